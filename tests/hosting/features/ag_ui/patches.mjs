// What AG-UI's own client makes of values and patches, printed as JSON. Argument: a file of [before, patch] pairs.
import { readFileSync } from "node:fs";
import jsonpatch from "fast-json-patch";

const pairs = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(pairs.map(([before, patch]) => jsonpatch.applyPatch(before, patch, true, false).newDocument)));
