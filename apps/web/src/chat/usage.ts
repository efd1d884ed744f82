/** `24 tokens · holdpoint-demo`, from the metadata of `finish`. */
export function usageOf(metadata: unknown): string | undefined {
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const { usage, modelVersion } = metadata as { usage?: { totalTokens?: unknown }; modelVersion?: unknown };
  const words = [];
  if (typeof usage?.totalTokens === "number") words.push(`${usage.totalTokens} tokens`);
  if (typeof modelVersion === "string") words.push(modelVersion);
  return words.length > 0 ? words.join(" · ") : undefined;
}
