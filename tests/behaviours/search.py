"""What is promised of the search in threads (docs/guides/search.md)."""

BEHAVIOURS = {
    "search.words": "Threads are found by all words of a search in their titles, messages and ids, in whichever case "
    "and script, the newest change first, with the place of a word (docs/guides/search.md).",
    "search.phrases": "Words in double quotes are found where they follow each other in one text, and nowhere else; a "
    "page reads so many texts at most, and the next one goes on (docs/guides/search.md).",
    "search.engines": "Each search engine of an app finds the same words and phrases as its own index, in an order of "
    "its own (docs/guides/search.md).",
    "search.engine-exact": "An engine of the app's own gets each text of a searched thread, whichever process dies, "
    "and of a thread that goes on the newer ones alone.",
    "search.engine-forgotten": "What was deleted or reset is removed from the app's own engine too, whichever process "
    "dies; of one that is away it is owed, shown, and removed once it is back.",
    "search.engine-owners": "Nothing that the app's own engine says is shown but the caller's own threads, as their "
    "log has them.",
    "search.exact": "An answer says of how many threads the last change is not searched yet, and all else is in it, "
    "whichever processes search at once and whichever dies.",
    "search.forgotten": "Nothing is found of what was deleted or reset, and no word of it stays in a store.",
    "search.owners": "With owners, everybody finds threads of their own only.",
    "search.free": "Nothing is kept for threads that nobody searches; a turn writes nothing for it.",
    "search.bounds": "A search of 10,000 threads, and of a thread of 10,000 messages, reads what changed since the "
    "last search and nothing else.",
}
