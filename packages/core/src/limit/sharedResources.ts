/**
 * Everything that callers share, in one table: how much there is of it, how much of it one caller may
 * hold, and what happens above that. The code takes its bounds from here, docs/security.md repeats
 * the table, and a test holds each row, so that no caller can take the service from the others.
 */

export interface SharedResource {
  /** What is counted, in plain words: "calls of receivers under way". */
  readonly what: string
  /** How much of it one process (or one connection, for its rows) has; null: no bound of its own. */
  readonly whole: number | null
  /** What one holder may have of it at once; null where a row has no smaller holder. */
  readonly share: { readonly of: Holder; readonly most: number } | null
  /** What happens above the bound: a refusal by its code, or waiting. */
  readonly above: string
}

/** Whose share it is. */
export type Holder = "workspace" | "address" | "connection" | "receiver"

const table = <const Rows extends Readonly<Record<string, SharedResource>>>(rows: Rows): Rows =>
  rows

export const sharedResources = table({
  /** Requests that a connection may have under way: above it the connection is not read from. */
  pipelinedRequests: {
    what: "requests of one connection under way",
    whole: 8,
    share: null,
    above: "the connection is not read until one is answered",
  },
  /** Connections of the database's pool of 10 that may be reading lists: the others are for the rest. */
  lists: {
    what: "lists being read from the database",
    whole: 3,
    share: { of: "workspace", most: 2 },
    above: "a list waits its turn; after 5 s, reading included, it is service_unavailable",
  },
  /**
   * An idle one takes some 30 KB. A client needs few, since each carries one request after another;
   * behind a proxy that is trusted, all clients come from its address, and have no share.
   */
  connections: {
    what: "connections of clients to one port",
    whole: 2048,
    share: { of: "address", most: 256 },
    above:
      "of one address: a new one is closed at once; in all: an idle one of the address that holds most is",
  },
  /**
   * Half a second of work on two processors with the embedded database: what would wait longer is
   * better sent again. A workspace has a quarter, so that its slow requests (uploads,
   * downloads of media links) leave room for those of others.
   */
  requests: {
    what: "requests of customers under way, media files and documents included",
    whole: 1024,
    share: { of: "workspace", most: 256 },
    above: "503 service_unavailable with Retry-After, before any work",
  },
  /** Apart from those of customers, so that an operator can act while they fill theirs. */
  operatorRequests: {
    what: "requests of the operator API under way",
    whole: 64,
    share: null,
    above: "503 service_unavailable with Retry-After, before any work",
  },
  /** Apart too: a busy service must not look dead to its supervisor. */
  watchingRequests: {
    what: "requests for health and metrics under way",
    whole: 64,
    share: null,
    above: "503 service_unavailable with Retry-After, before any work",
  },
  /**
   * Each takes some 100 bytes. An attacker with so many networks gets no further than with one: keys
   * are too long to be guessed at any rate.
   */
  wrongKeyAddresses: {
    what: "addresses (IPv6: /64) whose wrong keys are counted in a minute, of each surface",
    whole: 10_000,
    share: { of: "address", most: 1 },
    above: "the one that was counted first is forgotten",
  },
  /** Each takes some 200 bytes. Sending more different keys costs a look-up each, as it would anyway. */
  unknownKeys: {
    what: "keys that are remembered as unknown, so that sending them again costs no look-up",
    whole: 10_000,
    share: null,
    above: "the one that was looked up first is forgotten",
  },
  /**
   * Version 1 may name its caller behind a file. The first bytes of each body are not counted, so that
   * those who fill this keep no ordinary call from being read.
   */
  unknownCallersBytes: {
    what: "bytes of version 1 bodies read before their caller is known, beyond the first 64 KiB of each",
    whole: 64 * 1024 * 1024,
    share: null,
    above: "503 service_unavailable",
  },
  /** The default of `ATTACHMENT_BYTES`; a workspace's plan does not count them. */
  attachmentBytes: {
    what: "bytes of files that came with version 1 sends, while they are kept",
    // Of all workspaces together the disk's reserve alone is the bound.
    whole: null,
    share: { of: "workspace", most: 1024 ** 3 },
    above: "`storage_full`, in version 1 as a full media storage",
  },
  /** The default of `DISK_RESERVE`, on disks of 20 GiB or more; on smaller ones 5 % of the disk. */
  diskReserve: {
    what: "bytes of the disk that uploads and fetched media leave free",
    whole: 1024 ** 3,
    share: null,
    above:
      "`storage_full`; a message whose link is to be fetched is put off, until there is room again",
  },
  /** Parameters of a query string, and parts or parameters of a form. */
  formEntries: {
    what: "parameters of a query or entries of a form",
    whole: 1000,
    share: null,
    above: "request_too_large in version 1, validation_failed elsewhere",
  },
  /**
   * Members of all lists and objects of a JSON body together. The largest requests that are valid, with
   * 1,000 recipients, phones or ids, have some 2,000. 1 MiB could hold 340,000, which would keep the
   * processor from all other callers for some 100 ms.
   */
  jsonValues: {
    what: "values in a JSON body",
    whole: 10_000,
    share: null,
    above: "request_too_large",
  },
  /** Problems of a refused request that are told beside the first. */
  refusalErrors: {
    what: "entries of `errors` in the answer to a refused request",
    whole: 50,
    share: null,
    above: "the rest is not told",
  },
  /** Names that callers make up are cut where an answer repeats them. */
  refusalBytes: {
    what: "bytes of the answer to a refused request",
    whole: 64 * 1024,
    share: null,
    above: "long names are cut",
  },
  /** A lane is held from its claim until its attempt is settled, hanging links and transports included. */
  lanes: {
    what: "numbers being sent from",
    whole: 512,
    share: { of: "workspace", most: 128 },
    above: "the number's messages wait for their turn",
  },
  /** Calls of a transport that ask which phones are registered, of 50 phones each. */
  numberChecks: {
    what: "number checks being asked for",
    whole: 64,
    share: { of: "workspace", most: 16 },
    above: "the check waits for its turn",
  },
  /**
   * Each runs a connection that shows codes, for ten minutes at most; a plan may allow a workspace any
   * number of them.
   */
  linkAttempts: {
    what: "attempts at linking numbers being run",
    whole: 256,
    share: { of: "workspace", most: 16 },
    above: "the number is `connecting` and shows no code until there is room; its ten minutes run",
  },
  /**
   * Each target (a webhook endpoint, of which a workspace has five, or an origin of callbacks) is
   * called five times at once; the share is of both kinds together.
   */
  receiverCalls: {
    what: "calls of receivers under way: webhook endpoints and version 1 callbacks",
    whole: 2000,
    share: { of: "workspace", most: 125 },
    above: "the event waits for its turn",
  },
  /** A workspace's callbacks may lead anywhere: they leave half of the calls to webhook endpoints. */
  callbackCalls: {
    what: "version 1 callbacks among them",
    whole: 1000,
    share: { of: "workspace", most: 100 },
    above: "the callback waits for its turn",
  },
  /** Names that are being resolved, for calls and for the checks of links at acceptance. */
  nameLookUps: {
    what: "look-ups of host names under way",
    whole: 512,
    share: { of: "workspace", most: 32 },
    above: "the look-up waits, as long as its call may take to connect",
  },
  /** Connections that wait for the next call of the same receiver. */
  keptConnections: {
    what: "idle connections to receivers",
    whole: 1000,
    share: { of: "workspace", most: 100 },
    above: "the connection is closed after its answer",
  },
  /**
   * Files that links lead to, from the first byte until they are sent or kept: each of them may hold
   * 100 MB of the disk.
   */
  linkedFiles: {
    what: "files of links being fetched, and on disk until they are sent",
    whole: 64,
    share: { of: "workspace", most: 16 },
    above:
      "the fetch waits: 30 s for a message, which is then put off, and 5 s for a call, which is then answered with `service_unavailable`",
  },
})
