/**
 * A separate certificate for 127.0.0.1 for each server. Node can generate keys but no certificates, so the
 * needed part of X.509 is written here.
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto"

export interface Certificate {
  readonly key: string
  /** Also the authority that a client must trust. */
  readonly cert: string
}

const der = (tag: number, ...parts: ReadonlyArray<Uint8Array>) => {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content])
  const digits = Buffer.from(length.toString(16).padStart(length > 255 ? 4 : 2, "0"), "hex")
  return Buffer.concat([Buffer.from([tag, 0x80 + digits.length]), digits, content])
}

const sequence = (...parts: ReadonlyArray<Uint8Array>) => der(0x30, ...parts)
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const octets = (content: Uint8Array) => der(0x04, content)
const bits = (content: Uint8Array) => der(0x03, Buffer.from([0]), content)
const time = (text: string) => der(0x18, Buffer.from(text))
const yes = der(0x01, Buffer.from([0xff]))

const oids = {
  commonName: oid("550403"),
  ecdsaWithSha256: oid("2a8648ce3d040302"),
  basicConstraints: oid("551d13"),
  subjectAltName: oid("551d11"),
}

/** The address as 4 bytes, and its name. */
const alternatives = sequence(
  der(0x87, Buffer.from([127, 0, 0, 1])),
  der(0x82, Buffer.from("localhost")),
)

/** Two certificates that a client trusts need different names. */
export const makeCertificate = (commonName = "loopback"): Certificate => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const name = sequence(der(0x31, sequence(oids.commonName, der(0x0c, Buffer.from(commonName)))))
  const algorithm = sequence(oids.ecdsaWithSha256)
  const extensions = sequence(
    sequence(oids.basicConstraints, yes, octets(sequence(yes))),
    sequence(oids.subjectAltName, octets(alternatives)),
  )
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    name,
    sequence(time("20200101000000Z"), time("20991231235959Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  )
  const signed = sequence(body, algorithm, bits(sign("sha256", body, privateKey)))
  const lines = signed.toString("base64").replaceAll(/(.{64})/g, "$1\n")
  return {
    key: String(privateKey.export({ type: "pkcs8", format: "pem" })),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  }
}
