import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));

/** Everything is tested with both versions of the AI SDK that the package is for. */
const shared = { include: ["test/**/*.test.{ts,tsx}"], testTimeout: 30_000, hookTimeout: 30_000 };

export default defineConfig({
  test: {
    // Most of the time is spent waiting: for servers, deadlines and reconnections.
    maxWorkers: 4,
    projects: [
      { test: { ...shared, name: "ai7" } },
      {
        resolve: {
          alias: [
            { find: /^ai$/, replacement: `${modules}react6/node_modules/ai` },
            { find: /^@ai-sdk\/react$/, replacement: `${modules}react6` },
          ],
        },
        // The compiler does not know of the alias; tsconfig.ai6.json is for that. And there is one package.
        test: {
          ...shared,
          name: "ai6",
          exclude: ["test/readme.test.ts", "test/package.test.ts", "test/exports.test.ts"],
        },
      },
    ],
  },
});
