/** Numbers that a workspace sends from, and linking them to phones; number checks. */
import type { Listing, Made, Mode, PageOptions, Platform, RepeatOptions } from "./common.ts"

/** Only a connected number sends; messages of others wait. */
export type NumberStatus = "connected" | "connecting" | "disconnected"

/** How a number is linked: by scanning a QR code, or by typing a code on the phone. */
export type LoginMethod = "qr" | "phone_code"

/** A number. */
export interface SendingNumber {
  /** The `from` of messages and reminders. */
  readonly id: number
  /** Digits with country code, no +; null until a QR code was scanned. */
  readonly phone: string | null
  /** A name for people; may be empty. */
  readonly label: string
  /** What it belongs to. */
  readonly platform: Platform
  /** Whether it can send. */
  readonly status: NumberStatus
  /** How it is linked. */
  readonly loginMethod: LoginMethod
}

/** What there is to scan or to type while a number is being linked. */
export interface LinkView {
  /** The text of the present QR code, for you to draw; null until there is one, and with `phone_code`. */
  readonly qrText: string | null
  /** Link to a PNG of it, which `handler` serves; it works for 10 minutes, and each call gives a fresh one. */
  readonly qrCodeUrl: string | null
  /** 8 characters to type on the phone; null until there is one, and with `qr`. */
  readonly pairingCode: string | null
  /** When another pairing code takes its place. */
  readonly pairingCodeExpiresAt: Date | null
  /** The phone has taken the code, and linking finishes. */
  readonly linking: boolean
  /** When linking began. It ends by itself after 10 minutes. */
  readonly requestedAt: Date | null
}

/** A number with what there is to scan or to type. */
export interface NumberView extends SendingNumber {
  /** Null unless `status` is `connecting`. */
  readonly connect: LinkView | null
}

/** A number to link, or one to link again. */
export interface ConnectNumber {
  /** `qr` when left out. */
  readonly loginMethod?: LoginMethod | undefined
  /** With `phone_code`: E.164 with a leading +. */
  readonly phone?: string | undefined
  /** Links this number again instead of adding one. */
  readonly numberId?: number | undefined
}

/** Numbers as one caller sees them. */
export interface NumbersApi {
  /** Every number that the caller may use, oldest first. Fails with nothing of its own. */
  readonly list: () => Promise<ReadonlyArray<SendingNumber>>
  /** The number, with what there is to scan or to type. Fails with `number_not_found`. */
  readonly get: (id: number) => Promise<NumberView>
  /**
   * Begins to link a new number, or one again; ask `get` for the code, or use `link`. Fails with
   * `validation_failed`, `plan_required`, `number_limit_reached`, `number_not_found`,
   * `number_not_allowed`, `already_connected`, `connect_in_progress`, `invalid_phone`, and as
   * `idempotencyKey` says.
   */
  readonly connect: (
    command?: ConnectNumber,
    options?: RepeatOptions,
  ) => Promise<Made<SendingNumber>>
  /**
   * Links a number and tells each change: new codes, the scan, and at last `connected` or
   * `disconnected`, which ends the loop. To stop listening does not stop the linking. Fails as
   * `connect` does.
   */
  readonly link: (command?: ConnectNumber) => AsyncIterable<NumberView>
  /** PNG of the number's present QR code; null when it shows none. Fails with `number_not_found`. */
  readonly qrCode: (id: number) => Promise<Uint8Array | null>
}

/** Phones to look up at WhatsApp. */
export interface CheckNumbers {
  /** 1 to 1,000 phones, E.164 with a leading +. */
  readonly phones: ReadonlyArray<string>
  /** A note, at most 100 characters. */
  readonly name?: string | null | undefined
  /** Id of the connected WhatsApp number that asks; without it the only connected one. */
  readonly from?: number | null | undefined
}

/** A list of phones, and which of them WhatsApp knows. */
export interface NumberCheck {
  /** Unique in the store. */
  readonly id: number
  /** Whose it is. */
  readonly workspaceId: number
  /** A `test` check does not ask WhatsApp: it finds every phone registered but those that end in 0000. */
  readonly mode: Mode
  /** The number that asks. */
  readonly numberId: number
  /** The note. */
  readonly name: string | null
  /** `completed` once every phone has a result. */
  readonly status: "pending" | "processing" | "completed"
  /** How many results there will be; a phone that was named twice has two. */
  readonly total: number
  /** Results that are no longer pending. */
  readonly checked: number
  /** Phones that WhatsApp knows. */
  readonly registered: number
  /** Phones that it does not know. */
  readonly notRegistered: number
  /** When it was made. */
  readonly createdAt: Date
  /** Null until it is completed. */
  readonly completedAt: Date | null
}

/** `failed`: it could not be found out. */
export type CheckResultStatus = "pending" | "registered" | "not_registered" | "failed"

/** One phone of a check. */
export interface NumberCheckResult {
  /** Unique in the store. */
  readonly id: number
  /** E.164 with a leading +. */
  readonly phone: string
  /** What was found out. */
  readonly status: CheckResultStatus
  /** Null while it is pending. */
  readonly checkedAt: Date | null
}

/** Which results of a check. */
export interface ListCheckResults extends PageOptions {
  /** One or several. */
  readonly status?: CheckResultStatus | ReadonlyArray<CheckResultStatus> | undefined
}

/** Number checks of one workspace, in one mode. They are kept for 30 days. */
export interface NumberChecksApi {
  /**
   * Stores a check; the worker asks WhatsApp afterwards. Fails with `validation_failed`, `invalid_phone`, `from_required`,
   * `number_not_found`, `number_not_allowed`, `number_not_connected`, and as `idempotencyKey` says.
   */
  readonly create: (command: CheckNumbers, options?: RepeatOptions) => Promise<Made<NumberCheck>>
  /** The check as it is now. Fails with `number_check_not_found`. */
  readonly get: (id: number) => Promise<NumberCheck>
  /** Newest first. Fails with `validation_failed`, `invalid_cursor`. */
  readonly list: (query?: PageOptions) => Listing<NumberCheck>
  /** What was found of each phone, newest first. Fails with `number_check_not_found`, `validation_failed`, `invalid_cursor`. */
  readonly results: (id: number, query?: ListCheckResults) => Listing<NumberCheckResult>
}
