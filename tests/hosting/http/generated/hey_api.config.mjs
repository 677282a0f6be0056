export default {
  input: "openapi.json",
  output: { module: { extension: ".js" }, path: "made" },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
};
