// The page: CopilotKit's client without React. The thread's id is in the address, so a page that is loaded again has it.
import { CopilotKitCore } from "@copilotkit/core";

const [messages, asked, problem, form] = ["messages", "asked", "problem", "form"].map((id) => document.getElementById(id));
const copilotkit = new CopilotKitCore({ runtimeUrl: "/api/copilotkit" });
let agent;

copilotkit.subscribe({
  onAgentsChanged: ({ agents }) => void (agent ??= agents.guide && begun(agents.guide)),
  onError: ({ error }) => void (problem.textContent = error.message),
});

function begun(guide) {
  location.hash ||= crypto.randomUUID();
  guide.threadId = location.hash.slice(1);
  guide.subscribe({
    onMessagesChanged: (seen) => messages.replaceChildren(...seen.messages.flatMap(lines)),
    onRunStartedEvent: () => asked.replaceChildren(),
    onRunFinishedEvent: ({ outcome, interrupts }) => void (outcome === "interrupt" && ask(interrupts)),
  });
  copilotkit.connectAgent({ agent: guide }).then(() => (form.elements[1].disabled = false));
  return guide;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: form.elements.text.value });
  form.reset();
  run({});
});

async function run(parameters) {
  problem.textContent = "";
  form.elements[1].disabled = true;
  await copilotkit.runAgent({ agent, ...parameters });
  form.elements[1].disabled = false;
}

// One answer for each call that waits; the run goes on when all are there.
function ask(interrupts) {
  const answers = {};
  const answer = (interrupt, approved, question) => {
    answers[interrupt.id] = { interruptId: interrupt.id, status: "resolved", payload: { approved } };
    question.remove();
    if (interrupts.every(({ id }) => answers[id])) run({ resume: Object.values(answers) });
  };
  asked.replaceChildren(
    ...interrupts.map((interrupt) => {
      const question = element("p", "question", interrupt.message);
      for (const [word, approved] of [["Approve", true], ["Deny", false]]) {
        const button = element("button", "", word);
        button.onclick = () => answer(interrupt, approved, question);
        question.append(" ", button);
      }
      return question;
    }),
  );
}

function lines({ role, content, toolCalls = [] }) {
  const calls = toolCalls.map((call) => element("p", "tool", `${call.function.name} ${call.function.arguments}`));
  return content ? [element("p", role, content), ...calls] : calls;
}

function element(tag, className, text) {
  return Object.assign(document.createElement(tag), { className, textContent: text });
}
