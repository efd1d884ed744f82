// A chat's state without a UI.

/** Every write stores a snapshot, so that nothing a test has read changes later. */
export class PlainState {
  status = "ready";
  error = undefined;

  constructor(messages = []) {
    this.messages = messages;
  }

  snapshot = (value) => structuredClone(value);

  pushMessage = (message) => {
    this.messages = [...this.messages, this.snapshot(message)];
  };

  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };

  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
}
