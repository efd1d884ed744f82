/** A set of change listeners. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Adds a listener. The returned function removes it. */
  add(listener: () => void): () => void {
    // A separate object, so that the same function may be added twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  call(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
