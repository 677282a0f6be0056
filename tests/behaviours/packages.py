"""What the wheels promise: the library, the local host for any app, and the trial of any service."""

BEHAVIOURS = {
    "packages.one-command": "One command builds the wheels from this tree, and the same tree gives the same bytes.",
    "packages.names": "A wheel installs one import name, and with it everything of the tree that belongs to it.",
    "packages.needs": "A wheel asks for what the requirements files ask for, and each extra is one of these files.",
    "packages.app": "In an environment of nothing but the wheels, an app of one file answers on the local host.",
    "packages.any-app": "The wheel of the local host alone runs an app that has nothing of the library, also by uvx.",
    "packages.typed": "A type checker sees the types of every public name of the library's wheel.",
    "packages.public": "Every name that the template, its samples and its pages import is exported by the package.",
    "packages.renamed": "A source in a wheel differs from the tree's in the names of the packages and commands alone, "
    "and says no name that is not there.",
    "packages.said": "Messages of the wheels and files of a new app name no page or file that only a clone has: "
    "a page by its address, or by its name where no address is known.",
    "packages.suite": "Where the wheels are installed all tests pass but those of a list, "
    "which are about the tree itself.",
    "packages.new": "An app made by `new` is the template's files with a pin in place of the library's; its tests pass "
    "and it answers, by two commands, and a folder with files is left as it is.",
    "packages.add": "`add` writes a new part with its test and names it in the app's code; every other byte stays. All "
    "files are written or none, and what it does not know is refused with what to add by hand.",
    "packages.skill": "The skill of the wheel and the AGENTS.md of a new app are true: each command, typed as it "
    "stands there in a new app, and each file do what is shown.",
    "packages.from-upstream": "An app that uses Microsoft's package answers after `new --from-upstream`: its imports "
    "are ours, its other lines and its task hub as they were, and what was not rewritten is said by file and line.",
    "packages.check": "`check` says what of an app is outdated, unsafe or not deployable: a sentence for each "
    "finding, with its place and what to do. A new app is only unlocked.",
    "packages.lock": "`lock` writes what a deployment installs, with hashes, for each Python; other bytes are refused.",
    "packages.upgrade": "`upgrade` raises the pin and brings the files that nobody changed to this version; what the "
    "user changed is shown three ways and left, unless it is named.",
    "packages.release": "A release publishes the wheels that it built, attested and without a secret, and lists what "
    "each brings, with versions and licences.",
    "packages.commands": "The modules that are commands in the tree are commands of the wheels, with the same options.",
}
