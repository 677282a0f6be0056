// Sets the clock of a process of Node ahead by as many milliseconds as the file of the variable LATER says.
const { readFileSync } = require("node:fs");

const Right = Date;
const now = () => Right.now() + Number(readFileSync(process.env.LATER, "utf8"));

globalThis.Date = class Date extends Right {
  constructor(...parts) {
    super(...(parts.length === 0 ? [now()] : parts));
  }

  static now() {
    return now();
  }
};
