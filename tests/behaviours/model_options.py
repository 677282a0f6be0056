"""What is promised of the model's options that callers set (docs/guides/options.md)."""

BEHAVIOURS = {
    "options.obeyed": "An option that an agent lets its callers set, within its bounds, is the model's in that run, on "
    "each protocol by its own name.",
    "options.ignored": "An option that the agent does not leave to its callers has no effect, and the answer names it.",
    "options.checked": "An option out of its bounds is refused by its place in the request, and nothing is stored.",
    "options.declared": "What declares no option is refused at the start, by a sentence that says what to give.",
    "options.kept": "A run that goes on after an approval, and a repeated request, have the options of the first one.",
    "options.alone": "A message with options of its own joins no run that has others.",
    "options.own-tools": "A caller with tools of its own may have one of them called, by its name or not, and one at a "
    "time. The agent's tools are its model's to choose.",
    "options.nothing": "A run without options stores nothing for them.",
    "options.doors": "Options have one rule at every door: routes, protocols, tools, functions and orchestrations.",
    "options.default": "An app may have a default of the options that callers set; an agent's own replaces it.",
    "options.listed": "The list of agents and the description of each have what callers set, with the bounds.",
    "options.survives-kill": "A process that takes over a run gives its model the same options.",
}
