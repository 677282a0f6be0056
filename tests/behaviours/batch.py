"""Many requests in one (docs/reference/http-runs.md, "Many requests in one")."""

BEHAVIOURS = {
    "batch.each": "Each request of a batch is answered as the route of one run answers it: its answer or its refusal, "
    "its limits and its headers; one that is refused refuses no other, and a body of a wrong form begins nothing.",
    "batch.order": "Results stand in the order of the requests, a stream has each when its run ends, and requests "
    "of one thread have their runs in their order.",
    "batch.once": "A batch that is sent again with its key finds the runs that it began and begins the rest, also "
    "after a kill, at another process, and at both at once; another owner with the same key has runs of their own.",
    "batch.wait": "When the wait is over, every request has begun its run, and the answer says where each is that "
    "goes on; who does not wait is answered so at once.",
    "batch.places": "An instance waits for so many runs of batches at once; two batches have turns, and a request for "
    "one run waits for none of them.",
}
