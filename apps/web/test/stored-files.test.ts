import { describe, expect, it } from "vitest";
import { fileNameOf, isPicture, sizeOf, storedFilesOf } from "../src/tools/storedFiles";

const link = (index: number, mimeType = "image/png", call = "call_1") => ({
  type: "image",
  mimeType,
  bytes: 600_000,
  url: `/api/chat/chat_1/files/${call}/${index}`,
});

describe("the files of a call", () => {
  it("are found wherever the output has them, in its order and once", () => {
    const output = { content: [{ type: "text", text: "two" }, link(0), { deep: [link(1, "audio/wav"), link(0)] }] };
    expect(storedFilesOf(output, "call_1").map(({ url, mediaType }) => [url, mediaType])).toEqual([
      ["/api/chat/chat_1/files/call_1/0", "image/png"],
      ["/api/chat/chat_1/files/call_1/1", "audio/wav"],
    ]);
    expect(storedFilesOf(link(0), "call_1")).toHaveLength(1);
    expect(storedFilesOf([undefined, null, link(0)], "call_1")).toHaveLength(1);
  });

  it("are only those of this call", () => {
    const foreign = [
      link(0, "image/png", "call_2"),
      { ...link(0), url: "https://evil.example/api/chat/chat_1/files/call_1/0" },
      { ...link(0), url: "//evil.example/api/chat/chat_1/files/call_1/0" },
      { ...link(0), url: "/api/chat/chat_1/files/call_1/0?x" },
      { ...link(0), url: "javascript:alert(1)" },
      { ...link(0), mimeType: undefined },
      link(0).url,
    ];
    expect(storedFilesOf(foreign, "call_1")).toEqual([]);
    for (const output of [undefined, null, 1, "text", [], {}]) expect(storedFilesOf(output, "call_1")).toEqual([]);
  });

  it("do not take forever to find", () => {
    let deep: unknown = link(0);
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    expect(storedFilesOf(deep, "call_1")).toEqual([]);
    expect(
      storedFilesOf(
        Array.from({ length: 1_000_000 }, () => 1),
        "call_1",
      ),
    ).toEqual([]);
    expect(
      storedFilesOf(
        Array.from({ length: 100 }, (_, index) => link(index)),
        "call_1",
      ),
    ).toHaveLength(50);
  });

  it("are pictures or not, with names of the console's own", () => {
    const of = (mimeType: string, index = 0) => {
      const [file] = storedFilesOf(link(index, mimeType), "call_1");
      return file && [isPicture(file), fileNameOf(file)];
    };
    expect(of("image/png")).toEqual([true, "file-1.png"]);
    expect(of("application/pdf", 2)).toEqual([false, "file-3.pdf"]);
    expect(of("image/svg+xml")).toEqual([false, "file-1.svg"]);
    expect(of("text/html")).toEqual([false, "file-1.bin"]);
    expect(of("constructor")).toEqual([false, "file-1.bin"]);
    expect([1, 999, 600_000, 999_600, 5_242_880].map(sizeOf)).toEqual([
      "1 byte",
      "999 bytes",
      "600 KB",
      "1.0 MB",
      "5.2 MB",
    ]);
  });
});
