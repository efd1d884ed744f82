import { expect, test } from "./test";

test("a draft survives a reload and a look at another chat", async ({ console, page }) => {
  await console.open("sse");
  await console.composer.fill("a thought for a new chat");
  await page.reload();
  await expect(console.composer).toHaveValue("a thought for a new chat");
  await console.send("what's the weather in Tokyo");
  await expect(console.text).toContainText("Tokyo");
  await console.expectIdle();
  await expect(console.composer).toHaveValue("");
  await console.composer.fill("half a question");
  await page.getByRole("button", { name: "New chat" }).click();
  await expect(console.composer).toHaveValue("");
  const list = page.getByRole("navigation", { name: "Chats" });
  await list.getByRole("button", { name: /^what's the weather/ }).click();
  await expect(console.text).toContainText("Tokyo");
  await expect(console.composer).toHaveValue("half a question");
  await page.reload();
  await expect(console.composer).toHaveValue("half a question");
});

test("sending scrolls to what was sent, wherever the reader was", async ({ console, page }) => {
  await console.open("sse");
  for (let turn = 1; turn <= 3; turn++) {
    await console.send("what's the weather in Tokyo");
    await expect(console.answers).toHaveCount(turn);
    await console.expectIdle();
  }
  const conversation = page.getByRole("region", { name: "Conversation" });
  await conversation.evaluate((element) => element.scrollTo({ top: 0 }));
  await expect(page.getByRole("button", { name: "Go to the latest message" })).toBeVisible();
  await console.send("send 50 dollars to Hanako");
  await expect(page.getByRole("article", { name: "You" }).last()).toBeInViewport();
  await expect(console.card("process_payment").getByRole("button", { name: /^Approve/ })).toBeInViewport();
});

test("what shrinks and grows at the end takes no reader away from it", async ({ console, page }) => {
  await console.open("sse");
  for (let turn = 1; turn <= 3; turn++) {
    await console.send("what's the weather in Tokyo");
    await expect(console.answers).toHaveCount(turn);
    await console.expectIdle();
  }
  const conversation = page.getByRole("region", { name: "Conversation" });
  // A card that is decided loses its buttons and gets its result, before the event of the first move has come.
  await conversation.evaluate(async (element) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const column = element.firstElementChild as HTMLElement;
    const buttons = document.createElement("div");
    buttons.style.height = "60px";
    column.append(buttons);
    element.scrollTo({ top: element.scrollHeight });
    for (let i = 0; i < 3; i++) await frame();
    // Between the frame that shows the shorter column, and the next one, which tells of its move.
    await new Promise((resolve) =>
      requestAnimationFrame(() => {
        buttons.remove();
        setTimeout(resolve);
      }),
    );
    const result = document.createElement("div");
    result.style.height = "300px";
    column.append(result);
    for (let i = 0; i < 3; i++) await frame();
  });
  await expect(page.getByRole("button", { name: "Go to the latest message" })).toHaveCount(0);
  await conversation.evaluate((element) => element.scrollBy({ top: -200 }));
  await expect(page.getByRole("button", { name: "Go to the latest message" })).toBeVisible();
});

test("deleting a chat asks first, and says when it waits", async ({ console, page, server }) => {
  await console.open("sse");
  await console.send("send 50 dollars to Hanako");
  await console.expectState(console.card("process_payment"), "approval-requested");
  const list = page.getByRole("navigation", { name: "Chats" });
  // In the words of the card.
  await expect(list.getByRole("listitem")).toContainText("Waiting for you");
  await expect(console.card("process_payment")).toContainText("Waiting for you");
  await list.getByRole("button", { name: /^Delete chat send 50/ }).click();
  const dialog = page.getByRole("alertdialog", { name: "Delete this chat?" });
  await expect(dialog).toContainText("Its open requests will be withdrawn.");
  await dialog.getByRole("button", { name: "Keep it" }).click();
  await expect(list.getByRole("listitem")).toHaveCount(1);
  await list.getByRole("button", { name: /^Delete chat send 50/ }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(list.getByRole("listitem")).toHaveCount(0);
  await expect(dialog).toHaveCount(0);
  expect(await (await fetch(`${server.api}/api/chats`)).json()).toEqual([]);
});

test("two payments are told apart by ear", async ({ console }) => {
  await console.open("ai-sdk");
  await console.send("Aliceに30ドル、Bobに40ドル送金してください");
  await expect(
    console.chat.getByRole("button", { name: /^Approve: Send a payment, amount 30, recipient Alice/ }),
  ).toHaveCount(1);
  await expect(
    console.chat.getByRole("button", { name: /^Deny: Send a payment, amount 40, recipient Bob/ }),
  ).toHaveCount(1);
  await expect(console.page.getByTestId("question")).toContainText("amount 30, recipient Alice");
});
