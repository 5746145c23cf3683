/**
 * Everything that callers share, in one table: how much there is of it, and how much of it one caller
 * may hold, so that no caller can take the service from the others. The code takes its bounds from
 * here; the same table in docs/security.md says for each row what happens above them.
 */
import { maximumErrors } from "../error/Refusal.ts"

export interface SharedResource {
  /** How much of it one process (or one connection, for its rows) has; null: no bound of its own. */
  readonly whole: number | null
  /** What one holder may have of it at once; null where a row has no smaller holder. */
  readonly share: { readonly of: "workspace" | "address"; readonly most: number } | null
}

const table = <const Rows extends Readonly<Record<string, SharedResource>>>(rows: Rows): Rows =>
  rows

export const sharedResources = table({
  /** Requests that a connection may have under way: above it the connection is not read from. */
  pipelinedRequests: { whole: 8, share: null },
  /** Connections of the database's pool of 10 that may be reading lists: the others are for the rest. */
  lists: { whole: 3, share: { of: "workspace", most: 2 } },
  /**
   * Connections of clients to one port. An idle one takes some 30 KB. A client needs few, since each
   * carries one request after another; behind a proxy that is trusted, all clients come from its
   * address, and have no share.
   */
  connections: { whole: 2048, share: { of: "address", most: 256 } },
  /**
   * Requests of customers under way: half a second of work on two processors with the embedded
   * database; what would wait longer is better sent again. A workspace has a quarter, so that its slow
   * requests (uploads, downloads of media links) leave room for those of others.
   */
  requests: { whole: 1024, share: { of: "workspace", most: 256 } },
  /** Apart from those of customers, so that an operator can act while they fill theirs. */
  operatorRequests: { whole: 64, share: null },
  /** Those for health and metrics, apart too: a busy service must not look dead to its supervisor. */
  watchingRequests: { whole: 64, share: null },
  /**
   * Addresses (IPv6: /64) whose wrong keys are counted in a minute, of some 100 bytes each. An attacker
   * with so many networks gets no further than with one: keys are too long to be guessed at any rate.
   */
  wrongKeyAddresses: { whole: 10_000, share: { of: "address", most: 1 } },
  /**
   * Keys that are remembered as unknown, of some 200 bytes each. Sending more different keys costs a
   * look-up each, as it would anyway.
   */
  unknownKeys: { whole: 10_000, share: null },
  /**
   * Bytes read of version 1 bodies that name their caller behind a file. The first 64 KiB of each are
   * not counted, so that those who fill this keep no ordinary call from being read.
   */
  unknownCallersBytes: { whole: 64 * 1024 * 1024, share: null },
  /**
   * Files that came with version 1 sends: the default of `ATTACHMENT_BYTES`, since a workspace's plan
   * does not count them. Of all workspaces together the disk's reserve alone is the bound.
   */
  attachmentBytes: { whole: null, share: { of: "workspace", most: 1024 ** 3 } },
  /**
   * Bytes that uploads and fetched media leave free: the default of `DISK_RESERVE`, on disks of 20 GiB
   * or more; on smaller ones 5 % of the disk.
   */
  diskReserve: { whole: 1024 ** 3, share: null },
  /** Parameters of a query string, and parts or parameters of a form. */
  formEntries: { whole: 1000, share: null },
  /**
   * Members of all lists and objects of a JSON body together. The largest requests that are valid, with
   * 1,000 recipients, phones or ids, have some 2,000. 1 MiB could hold 340,000, which would keep the
   * processor from all other callers for some 100 ms.
   */
  jsonValues: { whole: 10_000, share: null },
  /** Problems of a refused request that are told beside the first. */
  refusalErrors: { whole: maximumErrors, share: null },
  /** Bytes of the answer to it: names that callers make up are cut where an answer repeats them. */
  refusalBytes: { whole: 64 * 1024, share: null },
  /**
   * Numbers being sent from: a lane is held from its claim until its attempt is settled, hanging links
   * and transports included.
   */
  lanes: { whole: 512, share: { of: "workspace", most: 128 } },
  /**
   * Test messages that one commit of a worker ends. No transport slows them down, so a workspace that
   * floods would fill every commit.
   */
  testMessages: { whole: 500, share: { of: "workspace", most: 125 } },
  /**
   * Sends of test keys that are being written: as many as one statement of the database takes. The quota
   * does not count them, so nothing else bounds how many of one workspace lie before those of others.
   */
  testSends: { whole: 64, share: { of: "workspace", most: 16 } },
  /** The same of batches, which write up to 1,000 messages each. */
  testBatches: { whole: 4, share: { of: "workspace", most: 1 } },
  /** Calls of a transport that ask which phones are registered, of 50 phones each. */
  numberChecks: { whole: 64, share: { of: "workspace", most: 16 } },
  /**
   * Attempts at linking numbers. Each runs a connection that shows codes, for ten minutes at most; a
   * plan may allow a workspace any number of them.
   */
  linkAttempts: { whole: 256, share: { of: "workspace", most: 16 } },
  /**
   * Calls of receivers. Each target (a webhook endpoint, of which a workspace has five, or an origin of
   * callbacks) is called five times at once; the share is of both kinds together.
   */
  receiverCalls: { whole: 2000, share: { of: "workspace", most: 125 } },
  /** A workspace's callbacks may lead anywhere: they leave half of the calls to webhook endpoints. */
  callbackCalls: { whole: 1000, share: { of: "workspace", most: 100 } },
  /** Names that are being resolved, for calls and for the checks of links at acceptance. */
  nameLookUps: { whole: 512, share: { of: "workspace", most: 32 } },
  /** Connections that wait for the next call of the same receiver. */
  keptConnections: { whole: 1000, share: { of: "workspace", most: 100 } },
  /**
   * Files that links lead to, from the first byte until they are sent or kept: each of them may hold
   * 100 MB of the disk.
   */
  linkedFiles: { whole: 64, share: { of: "workspace", most: 16 } },
})
