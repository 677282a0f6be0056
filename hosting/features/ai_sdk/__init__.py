"""The stream protocol of Vercel's AI SDK, by which `useChat` shows an agent on a page."""
