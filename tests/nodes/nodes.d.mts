/** The number of nodes that the run asks for; 0 if it has one server without a shared database. */
export function nodesWanted(): number;

interface Options {
  /** Default: as many as the run asks for. */
  count?: number | undefined;
  args?: readonly string[] | undefined;
  env?: Record<string, string> | undefined;
}

/** Several nodes behind a load balancer. */
interface Nodes {
  /** The address of the load balancer. */
  url: string;
  /** The nodes' own addresses. */
  urls: string[];
  end: (signal: "SIGKILL" | "SIGTERM") => Promise<void>;
  restart: (signal: "SIGKILL" | "SIGTERM") => Promise<void>;
  stop: (signal: "SIGKILL" | "SIGTERM") => Promise<void>;
}

/** Starts servers with these arguments, without a place for their chats, `count` times. */
export function startNodes(options: Options): Promise<Nodes>;
