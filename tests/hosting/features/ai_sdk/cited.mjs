// What the AI SDK's own chat has of an answer that cites, printed as JSON. Argument: the origin.
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";

const api = `${process.argv[2]}/api/ai-sdk/Librarian`;
const chat = new Chat({ id: "cited", transport: new DefaultChatTransport({ api }) });
await chat.sendMessage({ text: "search oolong" });
const stored = (await (await fetch(`${api}/cited`)).json()).messages;
const again = new Chat({ id: "cited", messages: stored, transport: new DefaultChatTransport({ api }) });
await again.sendMessage({ text: "thanks" });

const sourcesOf = (message) => message.parts.filter((part) => part.type.startsWith("source-"));
const kinds = chat.messages[1].parts.map((part) => part.type);
console.log(JSON.stringify({ came: sourcesOf(chat.messages[1]), stored: sourcesOf(stored[1]), kinds, then: again.messages.length }));
