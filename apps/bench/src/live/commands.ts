/** Commands for the processes of the live rows, and their replies, over IPC. */

/** The machine's steady clock, which all processes read alike. */
export const steadyMillis = (): number => Number(process.hrtime.bigint()) / 1e6

/** Commands for a measured program: the worker, or the bare sockets that it competes with. */
export type MeasuredCommand = { readonly kind: "memory" } | { readonly kind: "processor" }

/** Bytes, after the garbage was collected. */
export interface Memory {
  /** Bytes of objects, and of buffers outside the heap. */
  readonly held: number
  /** What the system has given to the process. */
  readonly resident: number
}

export interface Processor {
  /** Microseconds of processor time since the process began, of user and system. */
  readonly micros: number
}

/** Command for the bare library: `sockets` sockets send `each` texts each, one after the other. */
export interface SendCommand {
  readonly kind: "send"
  /** Index of the first of them. */
  readonly first: number
  readonly sockets: number
  readonly each: number
  readonly to: string
}

export interface Sent {
  /** When a text was handed to the library, and when its acknowledgement came; steady clock. */
  readonly texts: ReadonlyArray<{ readonly began: number; readonly acknowledged: number }>
}

/** Commands for the remote server. */
export type RemoteServerCommand =
  /** Makes accounts of this number and the following ones, each with a device linked long ago. */
  | { readonly kind: "link"; readonly first: number; readonly count: number }
  | { readonly kind: "person"; readonly number: string }
  /** Replies when `count` of the linked devices are connected (`online`), or none (`offline`). */
  | { readonly kind: "online"; readonly first: number; readonly count: number }
  | { readonly kind: "offline"; readonly first: number; readonly count: number }
  /** How many messages the person's phone shows. */
  | { readonly kind: "copies"; readonly number: string }
  /** Replies when `more` messages beyond `visible` have arrived. */
  | {
      readonly kind: "awaitArrivals"
      readonly number: string
      readonly visible: number
      readonly more: number
    }
  | { readonly kind: "complaints" }

export interface Started {
  /** Variables with which clients reach the remote server. */
  readonly settings: Readonly<Record<string, string>>
}

export interface Linked {
  /** Credentials of each device as its client keeps them. */
  readonly credentials: ReadonlyArray<string>
}

/** What a Telegram client keeps, as JSON. */
export interface LinkedAccount {
  readonly userId: number
  /** Its authorization key in base64. */
  readonly key: string
}

export interface Timing {
  /** From the first to the last, in milliseconds. */
  readonly millis: number
  /** When it was over; steady clock. */
  readonly ended: number
}
