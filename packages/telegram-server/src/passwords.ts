/** Second passwords; the server knows only a verifier (SRP). */
import { Long } from "@mtcute/node"
import type { tl } from "@mtcute/node"
import { computePasswordHash } from "@mtcute/node/utils.js"
import { randomBytes } from "node:crypto"
import { dhBytes, dhGenerator, dhPrime, modPow, toBigInt, toBytes } from "./arithmetic.ts"
import { provider, randomLong, sha256 } from "./envelope.ts"

type Algorithm = tl.RawPasswordKdfAlgoSHA256SHA256PBKDF2HMACSHA512iter100000SHA256ModPow

export interface Verifier {
  readonly algorithm: Algorithm
  readonly value: bigint
  /** Questions that wait for their answer, by id. */
  readonly questions: Map<string, { readonly secret: bigint; readonly b: Uint8Array }>
}

const prime = toBytes(dhPrime, dhBytes)
const generator = toBytes(BigInt(dhGenerator), dhBytes)

export const makeVerifier = async (password: string): Promise<Verifier> => {
  const [salt1, salt2] = [randomBytes(16), randomBytes(16)]
  const hash = await computePasswordHash(provider, Buffer.from(password), salt1, salt2)
  return {
    algorithm: {
      _: "passwordKdfAlgoSHA256SHA256PBKDF2HMACSHA512iter100000SHA256ModPow",
      salt1,
      salt2,
      g: dhGenerator,
      p: prime,
    },
    value: modPow(BigInt(dhGenerator), toBigInt(hash), dhPrime),
    questions: new Map(),
  }
}

/** The data with which a client proves that it knows the password. */
export const ask = (verifier: Verifier | null): tl.account.RawPassword => {
  const common = {
    _: "account.password",
    newAlgo: { _: "passwordKdfAlgoUnknown" },
    newSecureAlgo: { _: "securePasswordKdfAlgoUnknown" },
    secureRandom: randomBytes(32),
  } as const
  if (verifier === null) return common
  const secret = toBigInt(randomBytes(32))
  const k = toBigInt(sha256(prime, generator))
  const b = toBytes(
    (k * verifier.value + modPow(BigInt(dhGenerator), secret, dhPrime)) % dhPrime,
    dhBytes,
  )
  const srpId = randomLong()
  verifier.questions.set(srpId.toString(), { secret, b })
  return { ...common, hasPassword: true, currentAlgo: verifier.algorithm, srpB: b, srpId }
}

/** Whether the answer proves it; null without such a question. */
export const proves = (
  { algorithm, questions, value }: Verifier,
  { A, M1, srpId }: { readonly srpId: Long; readonly A: Uint8Array; readonly M1: Uint8Array },
): boolean | null => {
  const question = questions.get(srpId.toString())
  if (question === undefined) return null
  questions.delete(srpId.toString())
  const { b, secret } = question
  const u = toBigInt(sha256(A, b))
  const shared = modPow(toBigInt(A) * modPow(value, u, dhPrime), secret, dhPrime)
  const key = sha256(toBytes(shared, dhBytes))
  const mixed = Buffer.from(sha256(prime))
  for (const [index, byte] of sha256(generator).entries()) mixed[index] = (mixed[index] ?? 0) ^ byte
  const salts = [sha256(algorithm.salt1), sha256(algorithm.salt2)]
  return Buffer.compare(sha256(mixed, ...salts, A, b, key), M1) === 0
}
