"""What is promised of the index of files' chunks (hosting/features/uploads/search/index/contract.py)."""

BEHAVIOURS = {
    "file-index.finds": "A chunk is found by its meaning and by its words, each of which is enough, in the "
    "chosen files.",
    "file-index.once": "Each chunk of a file is indexed once, whichever processes add files at once, and whichever of "
    "them are killed.",
    "file-index.erased": "What is removed is found by nobody, an open reader neither, and none of its bytes stays in a "
    "store, also if a process was killed in the middle.",
    "file-index.owners": "What is indexed of one owner, agent, thread or model is never found for another.",
    "file-index.refuses": "A vector of another size, or without a direction, is refused with a sentence.",
    "file-index.bounds": "Small files share segments, a search reads what is new to its process, and a process "
    "remembers no more than it may.",
    "file-index.given": "An index of one's own passes the suite of the library, and whatever it raises counts as an "
    "index that is away.",
    "file-index.recall": "The search over vectors with a byte for each number finds nearly what an exact search finds "
    "(benchmarks).",
}
