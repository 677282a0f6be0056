"""What the benchmarks promise to who reads their figures."""

BEHAVIOURS = {
    "benchmarks.bar-beside-figure": "A figure that has a bar is printed with it, and with whether it is reached.",
    "benchmarks.calibrated": "Figures of a warm host stand beside the empty route's p50 on that very host.",
    "benchmarks.nothing-from-a-wrong-answer": "An answer other than the one expected ends a measure; no figure comes "
    "of it.",
    "benchmarks.counted-in-the-conversation": "What a crowd on one thread left is counted in the conversation itself: "
    "lost and doubled messages show.",
    "benchmarks.ends-what-it-started": "A benchmark ends the host that it started and deletes its folder, and touches "
    "no other.",
    "benchmarks.documented": "Every measure, figure with a bar, and bar stands in docs/contributing/benchmarks.md.",
}
