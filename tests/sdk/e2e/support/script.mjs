// The model's script. The first turn whose `when` matches the user's text is used.

const call = (name, input) => ({ toolCall: { name, input } });
const text = (...deltas) => ({ text: deltas });
const pay = (amount, recipient) => call("process_payment", { amount, recipient, currency: "USD" });

/** For flows that still pass if the moment is missed. Elsewhere a browser's result holds the turn. */
const MEANWHILE_MS = 2000;

const photo = call("take_photo", { facing: "user" });

/** A key that a client's parser drops or refuses: an own property, as it arrives on the wire. */
const hidden = JSON.parse('{"amount": 30, "recipient": "Ann", "currency": "USD", "__proto__": {"amount": 900}}');

const nested = (levels) => (levels === 0 ? 0 : [nested(levels - 1)]);

const turns = {
  "^slow pay": [[call("slow_payment", { amount: 30 })], [text("Paid.")]],
  "^pay, then photo": [[pay(30, "Ann")], [photo], [text("That is ", "settled.")]],
  "^pay both": [[text("Two payments."), pay(10, "Ann"), pay(20, "Bob")], [text("Both ", "answered.")]],
  "^pay twice": [[pay(10, "Ann")], [text("One is done."), pay(20, "Bob")], [text("Two are done.")]],
  "^pay and look": [[pay(10, "Ann"), call("get_weather", { location: "Kyoto" })], [text("All ", "done.")]],
  "^pay": [[text("One ", "moment."), pay(30, "Ann")], [text("That is ", "settled.")]],
  "^weather, then photo": [[call("get_weather", { location: "Kyoto" })], [photo], [text("It is ", "fine.")]],
  "^story": [[text("Once "), photo], [text("upon ", "a time.")]],
  "^weather": [[call("get_weather", { location: "Kyoto" })], [text("It is ", "fine.")]],
  "^look twice": [
    [call("get_weather", { location: "Kyoto" })],
    [call("get_weather", { location: "Nara" })],
    [text("Both looked at.")],
  ],
  "^music": [[call("change_bgm", { track: 1 })], [text("Music!")]],
  "^open slowly": [[call("open-url", { url: "https://example.com/", timeoutSec: 1 })], [text("It took too long.")]],
  "^open two": [
    [call("open-url", { url: "https://example.com/a" }), call("open-url", { url: "https://example.com/b" })],
    [text("Both are open.")],
  ],
  "^open": [[call("open-url", { url: "https://example.com/" })], [text("It is open.")]],
  "^photo twice": [[photo, call("take_photo", { facing: "environment" })], [text("Two photos.")]],
  "^photo and pay": [[photo, pay(30, "Ann")], [text("Seen and ", "settled.")]],
  "^photo, then photo": [[photo], [text("Again."), photo], [text("Two photos.")]],
  "^photo and weather": [[photo, call("get_weather", { location: "Kyoto" })], [text("A fine photo.")]],
  "^quick photo": [[call("take_quick_photo", {})], [text("No photo.")]],
  "^photo": [[photo], [text("Nice photo.")]],
  "^where and pay": [[call("get_location", {}), pay(30, "Ann")], [text("Found and ", "settled.")]],
  "^where twice": [[call("get_location", {}), call("get_location", {})], [text("You are there.")]],
  "^where": [[call("get_location", {})], [text("You are there.")]],
  "^search": [[call("search_database", { query: "all" })], [text("Searched.")]],
  "^hidden input": [[call("process_payment", hidden)], [text("I got that wrong.")]],
  "^huge input": [[pay(2 ** 53, "Ann")], [text("I got that wrong.")]],
  "^deep input": [
    [call("process_payment", { amount: 1, recipient: "Ann", currency: "USD", note: nested(64) })],
    [text("I got that wrong.")],
  ],
  "^bad input": [[call("process_payment", { amount: "much" })], [text("I got that wrong.")]],
  "^unknown tool": [[call("fly_to_moon", { speed: 3 })], [text("There is no such tool.")]],
  "^half bad": [[call("fly_to_moon", {}), pay(5, "Ann")], [text("Half of it was done.")]],
  "^fail": [[text("This goes ", "well until "), { error: "the wire broke" }]],
  "^slow text": [[text("Once "), { waitMs: MEANWHILE_MS }, text("upon ", "a time.")]],
  "^endless": [[text("It goes on "), { waitMs: 60_000 }, text("and on.")]],
  "^look endlessly": [
    [call("get_weather", { location: "Kyoto" })],
    [text("It "), { waitMs: 60_000 }, text("is fine.")],
  ],
  "^think": [[{ reasoning: ["Hm.", "I see."] }, text("Thought about it.")]],
  "^hello": [[text("Hello ", "to you.")]],
};

export const script = {
  modelVersion: "played",
  turns: Object.entries(turns).map(([when, steps]) => ({
    when,
    usage: { promptTokens: 3, completionTokens: 4 },
    steps,
  })),
};
