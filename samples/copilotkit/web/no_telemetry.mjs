// Imported before CopilotKit, which reads it as it is loaded.
process.env.COPILOTKIT_TELEMETRY_DISABLED = "true";
