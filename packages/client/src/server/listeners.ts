/** Functions that are called when something has changed. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Adds one; the returned function removes it. */
  add(listener: () => void): () => void {
    // Its own object, so that one function may listen twice.
    const own = () => listener();
    this.#listeners.add(own);
    return () => this.#listeners.delete(own);
  }

  call(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
