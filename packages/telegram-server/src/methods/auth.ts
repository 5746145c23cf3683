/** Logging in and out by code, password and QR code, and a client's questions about the server. */
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { randomBytes } from "node:crypto"
import { ask, proves } from "../passwords.ts"
import type { Call, Method } from "../sessions.ts"
import { Refused, toDigits, secondsNow, userFor } from "../ServerState.ts"
import type { CodeWay, Person } from "../ServerState.ts"

const codeTypes: Readonly<Record<CodeWay, (length: number) => tl.auth.TypeSentCodeType>> = {
  app: (length) => ({ _: "auth.sentCodeTypeApp", length }),
  sms: (length) => ({ _: "auth.sentCodeTypeSms", length }),
  call: (length) => ({ _: "auth.sentCodeTypeCall", length }),
  email: (length) => ({
    _: "auth.sentCodeTypeEmailCode",
    emailPattern: "a***@example.com",
    length,
  }),
}

const nextTypes: Readonly<Record<CodeWay, tl.auth.TypeCodeType | null>> = {
  app: null,
  sms: { _: "auth.codeTypeSms" },
  call: { _: "auth.codeTypeCall" },
  email: null,
}

const sentCode = (person: Person | null, hash: string, repeats: number): tl.auth.RawSentCode => {
  const ways = person?.codeWays ?? ["app"]
  const next = nextTypes[ways[repeats + 1] ?? "app"]
  return {
    _: "auth.sentCode",
    type: codeTypes[ways[repeats] ?? "app"](person?.code.length ?? 5),
    phoneCodeHash: hash,
    ...(next === null ? {} : { nextType: next, timeout: 0 }),
  }
}

const checkApplication = (
  { apiHash, apiId }: { readonly apiId: number; readonly apiHash: string },
  { state }: Call,
) => {
  if (apiId !== state.apiId || apiHash !== state.apiHash) throw new Refused(400, "API_ID_INVALID")
}

/** Assigns the client to that person. */
const logIn = ({ key, state }: Call, person: Person): tl.auth.RawAuthorization => {
  if (person.isBanned) throw new Refused(401, "USER_DEACTIVATED_BAN")
  key.person = person
  key.awaited = null
  state.changed()
  return { _: "auth.authorization", user: userFor(person, person) }
}

const logInOrAsk = (call: Call, person: Person): tl.auth.RawAuthorization => {
  if (person.verifier === null) return logIn(call, person)
  call.key.awaited = person
  throw new Refused(401, "SESSION_PASSWORD_NEEDED")
}

const sendCode = (request: tl.auth.RawSendCodeRequest, call: Call): tl.auth.TypeSentCode => {
  const { key, state } = call
  checkApplication(request, call)
  const phone = toDigits(request.phoneNumber)
  if (phone.length < 7) throw new Refused(406, "PHONE_NUMBER_INVALID")
  const person = state.people.get(phone) ?? null
  if (person?.isBanned === true) throw new Refused(400, "PHONE_NUMBER_BANNED")
  if (person !== null && person.dcId !== key.dcId) {
    throw new Refused(303, `PHONE_MIGRATE_${person.dcId}`)
  }
  const hash = randomBytes(9).toString("hex")
  state.codes.set(phone, { hash, person, repeats: 0 })
  return sentCode(person, hash, 0)
}

const getCode = (
  { phoneCodeHash, phoneNumber }: { readonly phoneNumber: string; readonly phoneCodeHash: string },
  { state }: Call,
) => {
  const phone = toDigits(phoneNumber)
  const code = state.codes.get(phone)
  if (code === undefined || code.hash !== phoneCodeHash) {
    throw new Refused(400, "PHONE_CODE_EXPIRED")
  }
  return { phone, code }
}

const resendCode = (request: tl.auth.RawResendCodeRequest, call: Call): tl.auth.TypeSentCode => {
  const { code } = getCode(request, call)
  if (code.repeats + 1 >= (code.person?.codeWays.length ?? 1)) {
    throw new Refused(400, "SEND_CODE_UNAVAILABLE")
  }
  code.repeats++
  return sentCode(code.person, code.hash, code.repeats)
}

const signIn = (request: tl.auth.RawSignInRequest, call: Call): tl.auth.TypeAuthorization => {
  const { code, phone } = getCode(request, call)
  const { emailVerification: byEmail } = request
  const isByEmail = code.person?.codeWays[code.repeats] === "email"
  const emailed = byEmail?._ === "emailVerificationCode" ? byEmail.code : undefined
  if ((isByEmail ? emailed : request.phoneCode) !== (code.person?.code ?? "12345")) {
    throw new Refused(400, isByEmail ? "EMAIL_CODE_INVALID" : "PHONE_CODE_INVALID")
  }
  call.state.codes.delete(phone)
  if (code.person === null) return { _: "auth.authorizationSignUpRequired" }
  return logInOrAsk(call, code.person)
}

const checkPassword = (
  { password }: tl.auth.RawCheckPasswordRequest,
  call: Call,
): tl.auth.TypeAuthorization => {
  const { awaited } = call.key
  if (awaited === null || awaited.verifier === null) throw new Refused(401, "AUTH_KEY_UNREGISTERED")
  const isProven = password._ === "inputCheckPasswordSRP" && proves(awaited.verifier, password)
  if (isProven === null) throw new Refused(400, "SRP_ID_INVALID")
  if (!isProven) throw new Refused(400, "PASSWORD_HASH_INVALID")
  return logIn(call, awaited)
}

const getPassword = (_: tl.account.RawGetPasswordRequest, { key }: Call): tl.account.RawPassword =>
  ask((key.awaited ?? key.person)?.verifier ?? null)

/** How long a QR code is valid. */
const tokenSeconds = 30

const exportLoginToken = (
  request: tl.auth.RawExportLoginTokenRequest,
  call: Call,
): tl.auth.TypeLoginToken => {
  const { key, state } = call
  checkApplication(request, call)
  for (const [token, { by, keyId }] of state.tokens) {
    if (keyId !== key.id || by === null) continue
    if (by.dcId !== key.dcId) {
      const bytes = Buffer.from(token, "base64url")
      return { _: "auth.loginTokenMigrateTo", dcId: by.dcId, token: bytes }
    }
    state.tokens.delete(token)
    return { _: "auth.loginTokenSuccess", authorization: logInOrAsk(call, by) }
  }
  const token = randomBytes(24)
  state.tokens.set(token.toString("base64url"), { keyId: key.id, dcId: key.dcId, by: null })
  state.changed()
  return { _: "auth.loginToken", expires: secondsNow() + tokenSeconds, token }
}

const importLoginToken = (
  { token }: tl.auth.RawImportLoginTokenRequest,
  call: Call,
): tl.auth.TypeLoginToken => {
  const name = Buffer.from(token).toString("base64url")
  const by = call.state.tokens.get(name)?.by ?? null
  if (by === null) throw new Refused(400, "AUTH_TOKEN_INVALID")
  call.state.tokens.delete(name)
  return { _: "auth.loginTokenSuccess", authorization: logInOrAsk(call, by) }
}

const logOut = (_: tl.auth.RawLogOutRequest, { key, state }: Call): tl.auth.RawLoggedOut => {
  if (key.person === null) throw new Refused(401, "AUTH_KEY_UNREGISTERED")
  key.person = null
  state.changed()
  return { _: "auth.loggedOut" }
}

/** Limits that no test reaches. */
const limits = {
  chatSizeMax: 200,
  megagroupSizeMax: 200_000,
  forwardedCountMax: 100,
  onlineUpdatePeriodMs: 210_000,
  offlineBlurTimeoutMs: 5000,
  offlineIdleTimeoutMs: 30_000,
  onlineCloudTimeoutMs: 300_000,
  notifyCloudDelayMs: 30_000,
  notifyDefaultDelayMs: 1500,
  pushChatPeriodMs: 60_000,
  pushChatLimit: 2,
  editTimeLimit: 172_800,
  revokeTimeLimit: 2_147_483_647,
  revokePmTimeLimit: 2_147_483_647,
  ratingEDecay: 2_419_200,
  stickersRecentLimit: 200,
  channelsReadMediaPeriod: 604_800,
  callReceiveTimeoutMs: 20_000,
  callRingTimeoutMs: 90_000,
  callConnectTimeoutMs: 30_000,
  callPacketTimeoutMs: 10_000,
  captionLengthMax: 1024,
  messageLengthMax: 4096,
} as const

const getConfig = (_: tl.help.RawGetConfigRequest, { key, state }: Call): tl.RawConfig => {
  const now = secondsNow()
  return {
    _: "config",
    ...limits,
    date: now,
    expires: now + 3600,
    testMode: false,
    thisDc: key.dcId,
    dcOptions: [...state.ports].map(([id, port]) => ({
      _: "dcOption",
      id,
      ipAddress: "127.0.0.1",
      port,
    })),
    dcTxtDomainName: "localhost",
    meUrlPrefix: "https://t.me/",
    webfileDcId: key.dcId,
  }
}

const getNearestDc = (_: tl.help.RawGetNearestDcRequest, { key }: Call): tl.RawNearestDc => ({
  _: "nearestDc",
  country: "DE",
  thisDc: key.dcId,
  nearestDc: key.dcId,
})

/** A key of another data centre logs in with the data that its own one provided. */
const exportAuthorization = (
  { dcId }: tl.auth.RawExportAuthorizationRequest,
  { key }: Call,
): tl.auth.RawExportedAuthorization => {
  if (key.person === null) throw new Refused(401, "AUTH_KEY_UNREGISTERED")
  const bytes = Buffer.from(`${key.person.phone} to ${dcId}`)
  return { _: "auth.exportedAuthorization", id: Long.fromNumber(key.person.id), bytes }
}

const importAuthorization = (
  { bytes }: tl.auth.RawImportAuthorizationRequest,
  call: Call,
): tl.auth.RawAuthorization => {
  const [phone = "", dcId = ""] = Buffer.from(bytes).toString().split(" to ")
  const person = call.state.people.get(phone)
  if (person === undefined || Number(dcId) !== call.key.dcId) {
    throw new Refused(400, "AUTH_BYTES_INVALID")
  }
  return logIn(call, person)
}

export const authMethods: Readonly<Record<string, Method>> = {
  "auth.sendCode": sendCode,
  "auth.resendCode": resendCode,
  "auth.signIn": signIn,
  "auth.checkPassword": checkPassword,
  "account.getPassword": getPassword,
  "auth.exportLoginToken": exportLoginToken,
  "auth.importLoginToken": importLoginToken,
  "auth.logOut": logOut,
  "auth.exportAuthorization": exportAuthorization,
  "auth.importAuthorization": importAuthorization,
  "help.getConfig": getConfig,
  "help.getNearestDc": getNearestDc,
}
