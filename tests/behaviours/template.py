"""What the template promises a newcomer: the offline model, the choice of models, dev.py, the files around them."""

BEHAVIOURS = {
    "template.offline-uses-the-tool": "Asked for the weather in a city, the offline model calls the weather tool and "
    "answers from its result.",
    "template.offline-calls-by-rules": "Asked in plain words for what one tool does, with a value for each argument "
    "that it needs, the offline model calls it, and says that rules chose it (models.md).",
    "template.offline-says-how-to-call": "Where the words lack a value, or fit two tools alike, the offline model "
    "calls none: it answers with the message that calls the first of them.",
    "template.offline-streams-words": "A streamed answer of the offline model comes in several words over a short time "
    "(models.md).",
    "template.offline-remembers-by-the-conversation": "What the offline model recalls comes from the conversation it "
    "is sent, and from nowhere else.",
    "template.offline-is-deterministic": "The same conversation always gets the same answer, streamed or whole.",
    "template.small-model": "Each answer of the small model that dev.py serves ends after so many tokens (models.md).",
    "template.tools-explain": "The model reads what a tool's exception says, hosted as plain (tools.md).",
    "template.offline-values-bounded": "A response_format for which the offline model would make more than so many "
    "values or characters fails its run at once, by a sentence in the log.",
    "template.no-settings-no-network": "With no model settings the agents talk to the offline model.",
    "template.readme-survives-a-crash": "The README's run, interrupted while its tool works, is finished after the "
    "next start: the same request gets its response, and the log says that it took two attempts.",
    "template.start-page": "At the address that a start prints, a browser finds a page that streams an answer, and "
    "every route of the app; none of it needs a network.",
    "template.start-shows-the-model": "Start-up says which model answers and how to set another, shows the agents' "
    "routes and the MCP address, and its first request asks an agent (models.md).",
    "template.misspelt-model-setting-named": "A misspelt setting of a model is named at start-up, with the nearest one "
    "there is (models.md).",
    "template.half-set-model-refused": "Model settings that are half set, or name two providers, are refused by a "
    "sentence that names the setting and the fix.",
    "template.dev-names-the-python": "dev.py under a Python that cannot run the app names the found and the needed "
    "version, and of several that can the one that infra deploys.",
    "template.dev-installs-once": "dev.py installs again only when a requirements file changed.",
    "template.dev-all-cores": "dev.py runs the whole suite on all cores, and tests that are named in one process.",
    "template.dev-room": "dev.py runs the tests of one room of hosting/ with those of the house and the endpoints.",
    "template.dev-keeps-settings": "dev.py writes local.settings.json when there is none, and never over one.",
    "template.dev-passes-on": "dev.py passes each option and command of the local host on, watches by default, and "
    "runs any program as if the environment were activated.",
    "template.dev-explains": "Where something is missing, dev.py says what to do instead of showing a traceback.",
    "template.closed-pipe": "A command whose output is no longer read ends at once, without a traceback.",
    "template.asks-with-python-alone": "A command that asks a running app needs nothing but Python: dev.py installs "
    "nothing for it (operations.md).",
    "template.settings-documented": "Every setting that the code reads stands in local.settings.json.template and in "
    "the docs.",
    "template.deploys-without-devhost": "What .funcignore leaves is the app and its library, and never the local host, "
    "the tests or secrets.",
    "template.deploys-bytecode": "What is deployed has the bytecode of the Python that runs there. It is used whatever "
    "the times of the files, and made anew each time, never in the folder that somebody edits (deployment.md).",
    "template.readme-runs": "Every console block of the README runs and prints what the README shows.",
    "template.infra-parses": "Every Bicep file parses, and every module and parameter it names exists.",
    "template.infra-compiles": "infra keeps the compiler's rules that a parser can see: what a deployment must know at "
    "its start it knows, outputs of a module that is a choice say so, and a fixed name is written out.",
    "template.infra-without-keys": "Every service of a deployment takes identities only; there is no key and no "
    "connection string in it.",
    "template.infra-settings": "Every app setting of a deployment is read by the code, the host or the worker, and "
    "every one that the code reads is set there or documented.",
    "template.infra-choices": "Before a deployment, a region without the plan, the scheduler or the copies that were "
    "chosen, and choices that contradict each other, are refused with a sentence.",
    "template.infra-models": "A deployment has the models that were chosen, with a project of Microsoft Foundry where "
    "one is asked for, and the app asks them by one protocol.",
    "template.infra-roles": "The app's identity has the built-in role for every service that it talks to, on that "
    "resource alone, and no other.",
    "template.infra-package-apart": "The deployed package is in a storage account of its own, where the app's identity "
    "has no role; an identity of its own reaches that one container.",
    "template.infra-closed": "In a virtual network, which one parameter chooses, every service of a deployment is "
    "reached by private endpoints only; the app itself too, where its callers are inside.",
    "template.infra-secrets": "A key that a deployment is given is a secret of its vault, the app refers to it, "
    "and names that Azure keeps after a deletion have the deployment's number.",
    "template.log-of-a-turn": "By default a plain turn leaves at most 6 records and 800 bytes in Azure's log, the "
    "run's line and all warnings among them.",
    "template.infra-alerts": "The queries of alerts and workbook fit the line that the app logs at the end of a run.",
    "template.infra-scanned": "checkov finds nothing in infra but exceptions that give their reason.",
    "template.workflow-scanned": "zizmor finds nothing in the workflow.",
    "template.doctor-clean": "azure-functions-doctor finds nothing wrong with what is deployed.",
    "template.any-host": "The endpoint tests run against any host by its URL and key, and print the figures that are "
    "promised on the real one.",
    "template.deploys-alone": "What is deployed indexes in a fresh environment with requirements.txt alone, on the "
    "oldest, the deployed and the newest supported Python, and where the run explores on the one between them too.",
    "template.floors": "The lowest versions that the requirements allow have wheels for each supported Python.",
    "template.lowest-and-newest": "The app takes a turn on the lowest versions that the requirements allow, and on the "
    "newest that there are.",
    "template.removed-agent": "What a removed agent left behind is refused by name, and goes on when it is back.",
    "template.redeployed": "Conversations, and runs and orchestrations that are under way, are taken up by the next "
    "version of the app.",
    "template.host-json-explained": "Every line of host.json stands in docs/guides/deploying.md with value and reason.",
    "template.costs-add-up": "The sums in docs/reference/costs.md follow from its prices and from what a turn uses.",
    "template.plan-limits": "Every limit of host.json and of the settings is possible on the plan that infra deploys.",
}
