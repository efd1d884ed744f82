// What happens to nodes and to the database. Each fault takes effect at once, lasts, and is healed.

import { pause } from "../wait.mjs";
import { LEASE_MS } from "./cluster.mjs";
import { LOSSES } from "./database.mjs";
import { CUTS } from "./wire.mjs";

/** Longer than the lease: others take over. */
const outlast = (random) => random.between(1.3 * LEASE_MS, 2.5 * LEASE_MS);

const faults = {
  async kill(cluster, node, random) {
    node.kill();
    await node.gone();
    cluster.deaths.push(node.deaths.at(-1));
    // Some are back before their lease has lapsed.
    await pause(random.between(0, 2 * LEASE_MS));
    await cluster.restart(node);
  },

  async pause(cluster, node, random) {
    const death = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    cluster.deaths.push(death);
    node.signal("SIGSTOP");
    await pause(outlast(random));
    node.signal("SIGCONT");
    await cluster.ready([node]);
    death.to = Date.now();
  },

  async cut(cluster, node, random) {
    const death = { from: Date.now(), to: Number.POSITIVE_INFINITY };
    cluster.deaths.push(death);
    const wire = cluster.wireOf(node);
    wire.cut(random.pick(CUTS));
    await pause(outlast(random));
    wire.heal({ isLate: random.chance(0.5) });
    await cluster.ready([node]);
    death.to = Date.now();
  },

  // The database's restart cuts off no call: nobody takes over from nodes that are only late.
  fast: (cluster) => cluster.database.restart("fast"),
  immediate: (cluster) => cluster.database.restart("immediate"),

  /** All leases lapse. */
  async outage(cluster, _node, random) {
    await cluster.database.halt();
    await pause(outlast(random));
    await cluster.database.resume();
  },

  /** The primary is lost, and its synchronous standby takes its place, at once or when all leases have lapsed. */
  async failover(cluster, _node, random) {
    await cluster.database.lose(random.pick(LOSSES));
    if (random.chance(0.5)) await pause(outlast(random));
    await cluster.database.failOver();
    // While the lost one is still lost.
    await cluster.ready();
    await cluster.database.repair();
  },

  /** The nodes are replaced one after the other, as in an upgrade. They end in order, so no call is cut off. */
  async roll(cluster) {
    for (const node of cluster.nodes) {
      await node.terminate();
      await cluster.restart(node);
      await cluster.ready([node]);
    }
  },
};

export const FAULTS = Object.keys(faults);

/** Kills are the most frequent fault in practice. */
const OFTEN = ["kill", "kill", "pause", "cut", "cut", "fast", "immediate", "outage"];

const OF_DATABASE = ["fast", "immediate", "outage", "failover"];

/** How often a second fault hits another node at the same time. */
const TWO = 0.2;

/** The faults of a round: `[{kind, node}]`. */
export function plan(cluster, random, kinds = OFTEN) {
  const nodes = random.some(cluster.nodes, random.chance(TWO) ? 2 : 1);
  const planned = nodes.map((node) => ({ kind: random.pick(kinds), node }));
  const roll = planned.find(({ kind }) => kind === "roll");
  if (roll) return [roll];
  // The database has one fault at a time.
  return planned.filter(
    ({ kind }, at) => at === 0 || !OF_DATABASE.includes(kind) || !OF_DATABASE.includes(planned[0].kind),
  );
}

/** Injects them, heals them, and returns once all nodes are ready. */
export async function inject(cluster, planned, random) {
  const healed = cluster.trouble();
  await Promise.all(planned.map(({ kind, node }) => faults[kind](cluster, node, random)));
  await cluster.ready();
  healed();
}
