// Seeded randomness. Every chat and every round has its own generator, named by its number, so that the plan does not
// depend on the order of events.

/** FNV-1a, 32 bits. */
function hash(text) {
  let value = 0x811c9dc5;
  for (const char of text) value = Math.imul(value ^ char.codePointAt(0), 0x01000193);
  return value >>> 0;
}

export class Random {
  #state;

  constructor(seed, name) {
    this.#state = hash(`${seed}/${name}`);
  }

  /** In [0, 1), by mulberry32. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let value = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability) {
    return this.next() < probability;
  }

  /** An integer, both ends included. */
  between(from, to) {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick(list) {
    return list[this.between(0, list.length - 1)];
  }

  /** `count` of the items, in random order. */
  some(list, count) {
    const rest = [...list];
    const taken = [];
    while (taken.length < count && rest.length > 0) taken.push(...rest.splice(this.between(0, rest.length - 1), 1));
    return taken;
  }
}
