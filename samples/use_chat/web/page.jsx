// The page. The chat's id is in the address, so a page that is loaded again has the chat, and follows what is at work.
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, isToolUIPart, getToolName } from "ai";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";

location.hash ||= crypto.randomUUID().replaceAll("-", "");
const id = location.hash.slice(1);
const { messages } = await (await fetch(`/chat/${id}`)).json();
createRoot(document.getElementById("chat")).render(<Chat initial={messages} />);

function Chat({ initial }) {
  const chat = useChat({
    id,
    messages: initial,
    resume: true,
    transport: new DefaultChatTransport({ api: "/chat" }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const [text, setText] = useState("");
  const send = (event) => {
    event.preventDefault();
    chat.sendMessage({ text });
    setText("");
  };
  return (
    <>
      {chat.messages.map((message) =>
        message.parts.map((part, number) => (
          <Part key={`${message.id}-${number}`} role={message.role} part={part} answer={chat.addToolApprovalResponse} />
        )),
      )}
      {chat.error && <p role="alert">{chat.error.message}</p>}
      <form onSubmit={send}>
        <input
          aria-label="Message"
          autoComplete="off"
          placeholder="What is the weather in Paris?"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button disabled={chat.status !== "ready" && chat.status !== "error"}>Send</button>
      </form>
    </>
  );
}

function Part({ role, part, answer }) {
  if (part.type === "text") return <p className={role}>{part.text}</p>;
  if (!isToolUIPart(part)) return null;
  const call = `${getToolName(part)} ${JSON.stringify(part.input)}`;
  if (part.state !== "approval-requested") return <p className="tool">{`${call} ${part.output ?? part.errorText ?? ""}`}</p>;
  return (
    <p className="question">
      May {call} be called?{" "}
      <button onClick={() => answer({ id: part.approval.id, approved: true })}>Approve</button>{" "}
      <button onClick={() => answer({ id: part.approval.id, approved: false })}>Deny</button>
    </p>
  );
}
