/**
 * What tests of the dashboard use: a service of its own, the dashboard before it, a real browser, and
 * what every page must keep: no request to another host, no breach of its policy, no complaint on the console.
 */
import { execFile, spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { chromium } from "playwright-core"
import type { Browser, Page } from "playwright-core"

const paths = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
]

/** Undefined on a machine without one. */
const browserPath: string | undefined = paths.find((path) => path !== "" && existsSync(path))

/** In CI a missing browser fails the tests. */
export const skipsWithoutBrowser = browserPath === undefined && process.env["CI"] === undefined
if (skipsWithoutBrowser)
  console.warn("Tests of the dashboard are skipped: no Chromium. CHROMIUM names the path of one.")

/** Keeps the browser from asking anything of its maker. */
const quietBrowser = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: browserPath ?? "",
    args: quietBrowser,
    // The sandbox needs a user of its own, which a container's root is not.
    chromiumSandbox: process.getuid?.() !== 0,
  })

/** Collects what goes wrong on a page. */
export const watchProblems = (page: Page, origin: string): ReadonlyArray<string> => {
  const problems: Array<string> = []
  page.on("request", (request) => {
    const url = request.url()
    if (!url.startsWith(`${origin}/`)) problems.push(`asked ${url}`)
  })
  page.on("pageerror", (error) => problems.push(String(error)))
  page.on("console", (message) => {
    // A refusal is an answer, and a lost connection a state of the page; the browser alone calls them errors.
    const isAnswer = /server responded with a status of|net::ERR_(EMPTY_RESPONSE|FAILED|CONNECTION)/
    if (["error", "warning"].includes(message.type()) && !isAnswer.test(message.text()))
      problems.push(message.text())
  })
  return problems
}

const app = resolve(import.meta.dirname, "..")

/**
 * Builds the pages that the service serves, in a process of its own: under a test runner Vite builds what
 * developers use.
 */
export const buildPages = async (): Promise<void> => {
  await promisify(execFile)(process.execPath, [join(app, "build.ts")], {
    env: { PATH: process.env["PATH"] },
  })
}

export interface TestDashboard {
  /** Where the operator's pages are: `ADMIN_PORT`, or where all is. */
  readonly url: string
  /** Where customers are, and keys. */
  readonly serviceUrl: string
  readonly operatorToken: string
  /** Sends a request with the live key; returns its answer. */
  readonly request: (method: string, path: string, body?: unknown) => Promise<unknown>
  /** Sends a request of the operator; returns its answer. */
  readonly operate: (method: string, path: string, body?: unknown) => Promise<unknown>
  /** Uploads a file to the workspace of the example; returns the answer. */
  readonly upload: (name: string, content: Uint8Array<ArrayBuffer>) => Promise<unknown>
  readonly stop: () => Promise<void>
}

/** A start takes long on a busy machine, the embedded database's most. */
const startTimeoutMillis = 120_000

/** Waits for a line that matches; fails when the program ends before it. */
export const saysLine = (child: ChildProcess, line: RegExp): Promise<RegExpExecArray> =>
  new Promise((resolveMatch, reject) => {
    let text = ""
    const late = setTimeout(() => reject(new Error(`not ready: ${text}`)), startTimeoutMillis)
    child.once("exit", (code) => reject(new Error(`ended with ${code}: ${text}`)))
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const match = line.exec(text)
      if (match === null) return
      clearTimeout(late)
      resolveMatch(match)
    })
  })

/** The bundles that the runner makes, which start in a quarter of the processor time; else the sources. */
const getProgram = (name: "server" | "worker"): string =>
  process.env["VITEST"] === undefined
    ? resolve(app, `../../apps/${name}/src/main.ts`)
    : resolve(app, `../../dist/${name}/main.js`)

const { NODE_COMPILE_CACHE, PATH } = process.env

/** Starts a program of the service. */
const startProgram = (name: "server" | "worker", env: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, [getProgram(name)], {
    env: { NODE_COMPILE_CACHE, PATH, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  })
  const ended = new Promise((done) => child.once("exit", done))
  const stop = async () => {
    child.kill("SIGTERM")
    await ended
  }
  return { child, stop }
}

const request =
  (origin: string, token: string) =>
  async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(origin + path, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    })
    return response.json()
  }

const uploadTo =
  (origin: string, token: string): TestDashboard["upload"] =>
  async (name, content) => {
    const body = new FormData()
    body.append("file", new Blob([content]), name)
    const response = await fetch(`${origin}/api/v2/media`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body,
    })
    return response.json()
  }

export interface StartOptions {
  /** Variables of the service, above those of a service on memory. */
  readonly settings?: Readonly<Record<string, string>>
}

export const startDashboard = async ({
  settings = {},
}: StartOptions = {}): Promise<TestDashboard> => {
  const directory = await mkdtemp(join(tmpdir(), "dashboard-"))
  await buildPages()

  const operatorToken = "operator-token-of-the-test-of-the-dashboard"
  const env: Readonly<Record<string, string>> & { readonly DATA_DIR: string } = {
    PORT: "0",
    DATABASE_URL: "memory:",
    DATA_DIR: join(directory, "data"),
    OPERATOR_TOKEN: operatorToken,
    CLOCK: "adjustable",
    ALLOW_PRIVATE_TARGETS: "true",
    ...settings,
  }
  const server = startProgram("server", env)
  const programs = [server]
  const stop = async () => {
    await Promise.all(programs.map(({ stop }) => stop()))
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const [, origin = "", adminOrigin = origin] = await saysLine(
      server.child,
      /listening on (\S+) \(version [\d.]+(?:; operator API on (http:\S+?))?\)/,
    )
    if (env["WORKER"] === "separate") {
      const worker = startProgram("worker", env)
      programs.push(worker)
      await saysLine(worker.child, /worker ready/)
    }
    const ending = env["DATABASE_URL"] === "memory:" ? ".memory" : ""
    const liveKey = await readFile(join(env.DATA_DIR, `example-live-key${ending}`), "utf8")
    return {
      url: adminOrigin,
      serviceUrl: origin,
      operatorToken,
      request: request(origin, liveKey.trim()),
      operate: request(adminOrigin, operatorToken),
      upload: uploadTo(origin, liveKey.trim()),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
