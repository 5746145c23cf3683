/**
 * What a `postgres://` URL says beyond what the client of PostgreSQL reads: it ignores what it does not know,
 * so what would change where or how safely it connects is read here, or refused by its name.
 */
import { readFileSync } from "node:fs"
import type { ConnectionOptions as TlsOptions } from "node:tls"

/** TLS as the URL wants it; undefined where the client reads it from the URL itself. */
export interface UrlSettings {
  readonly ssl?: TlsOptions
}

/** What this service does not do, and what to do instead. */
const refused: Readonly<Record<string, string>> = {
  hostaddr: "name the host in the URL",
  load_balance_hosts: "name one host, which leads to the primary",
  sslcert: "client certificates are not supported; use a password",
  sslkey: "client certificates are not supported; use a password",
  sslcrl: "lists of revoked certificates are not supported",
  service: "service files are not read; put the address into the URL",
  passfile: "password files are not read; put the password into the URL",
}

/** What the service must have anyway: its start fails on a standby. */
const sessionAttributes = ["any", "read-write", "primary"]

/** Those with which TLS cannot be left out. */
const tlsModes = ["require", "verify-ca", "verify-full"]

const rootCertificate = (path: string): UrlSettings | string => {
  if (path === "system") return {}
  try {
    return { ssl: { ca: readFileSync(path, "utf8") } }
  } catch {
    return `sslrootcert names ${path}, which cannot be read`
  }
}

const isDecodable = (text: string): boolean => {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

/** Parameters with values that may hold a bare `@`. */
const takesAt = /^(?:user|password|application_name|options)=/

/**
 * Whether a part of the URL looks like the rest of a password. A bare `@`, `/`, `?` or `#` in one makes other parts
 * of the URL of it, such as the host, which messages show.
 */
const hasBarePassword = (text: string): boolean => {
  const [, authority = "", path = "", query = "", fragment] =
    /^\w+:\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(#.*)?$/s.exec(text) ?? []
  const credentials = authority.slice(0, Math.max(0, authority.lastIndexOf("@")))
  return (
    fragment !== undefined ||
    credentials.includes("@") ||
    !isDecodable(credentials) ||
    path.includes("@") ||
    query.split("&").some((entry) => entry.includes("@") && !takesAt.test(entry))
  )
}

/** The settings, or in one line what is wrong with the URL; it shows no secret. */
export const readUrl = (text: string): UrlSettings | string => {
  if (hasBarePassword(text)) {
    return "a part of it looks like the rest of a password: percent-encode the password, such as @ as %40, / as %2F, # as %23, ? as %3F and % as %25"
  }
  const authority = /^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(text)?.[1] ?? ""
  const hasSeveral = (hosts: string) => hosts.includes(",")
  const several =
    "it names several hosts: name one that leads to the primary, such as that of a proxy"
  if (hasSeveral(authority)) return several
  if (!URL.canParse(text)) return "it is no URL"
  const parameters = new URL(text).searchParams
  if (hasSeveral(parameters.get("host") ?? "")) return several
  for (const name of parameters.keys()) {
    const instead = refused[name]
    if (instead !== undefined) return `${name} is not supported: ${instead}`
  }
  const attributes = parameters.get("target_session_attrs") ?? "any"
  if (!sessionAttributes.includes(attributes)) {
    return `target_session_attrs=${attributes} is not supported: the service writes, so it is one of ${sessionAttributes.join(", ")}`
  }
  for (const name of ["channel_binding", "gssencmode"]) {
    if (parameters.get(name) === "require") {
      return `${name}=require is not supported: use sslmode=verify-full`
    }
  }
  const certificate = parameters.get("sslrootcert")
  if (certificate === null) return {}
  return tlsModes.includes(parameters.get("sslmode") ?? "")
    ? rootCertificate(certificate)
    : `sslrootcert needs sslmode to be one of ${tlsModes.join(", ")}`
}

/** The host that a usable URL names, which a look-up may show: none for a socket, nor for a bare password. */
export const hostsIn = (text: string): ReadonlyArray<string> => {
  if (typeof readUrl(text) === "string") return []
  const host = new URL(text).hostname.replace(/^\[(.*)\]$/, "$1")
  return host === "" || host.startsWith("%2F") ? [] : [host]
}
