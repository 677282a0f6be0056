// Required before a Node program: it complains of each name that is looked up, but for this machine's own.
const dns = require("node:dns");
const { lookup } = dns;
dns.lookup = (name, ...rest) => {
  if (name !== "localhost" && name !== "127.0.0.1") console.error(`looked up ${name}`);
  return lookup(name, ...rest);
};
