/** The steps of a release, as far as they go on this machine: what they would change elsewhere is shown. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { globSync, readFileSync, readdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { processes } from "@messaging-service/testkit"

const runFile = promisify(execFile)

const root = resolve(import.meta.dirname, "../../..")

interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
}

const published = globSync("{packages,apps}/*/package.json", { cwd: root })
  .map((file) => JSON.parse(readFileSync(join(root, file), "utf8")) as Manifest)
  .filter((manifest) => manifest.private !== true)

const version = published[0]?.version ?? ""

const names = published.map(({ name }) => name)

/** Not in the registry yet. */
const missing = ["@messaging-service/http", "@messaging-service/service"]

/** In the registry. */
const there = names.filter((name) => !missing.includes(name))

const aRegistry = Effect.acquireRelease(
  Effect.promise(
    () =>
      new Promise<{ readonly url: string; readonly close: () => void }>((create) => {
        const server = createServer((request, response) => {
          const name = decodeURIComponent((request.url ?? "").slice(1).split("?")[0] ?? "")
          const isKnown = request.method === "GET" && there.includes(name)
          response.writeHead(isKnown ? 200 : 404, { "content-type": "application/json" }).end(
            JSON.stringify(
              isKnown
                ? {
                    name,
                    "dist-tags": { latest: version },
                    versions: { [version]: { name, version } },
                  }
                : { error: "Not found" },
            ),
          )
        })
        server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as AddressInfo
          create({ url: `http://127.0.0.1:${port}/`, close: () => server.closeAllConnections() })
        })
      }),
  ),
  ({ close }) => Effect.sync(close),
)

class Release extends Context.Service<
  Release,
  {
    readonly folder: string
    readonly step: (
      args: ReadonlyArray<string>,
      env?: Readonly<Record<string, string>>,
    ) => Promise<{ readonly stdout: string; readonly stderr: string }>
  }
>()("test/Release") {
  static readonly layer = Layer.effect(
    Release,
    Effect.gen(function* () {
      const folder = join(yield* processes.temporaryDirectory, "release")
      const step = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
        runFile(process.execPath, [join(root, ".ci/release.ts"), ...args, "--into", folder], {
          env: {
            ...process.env,
            REPOSITORY: "https://git.example.com/team/messaging.git",
            ...env,
          },
          maxBuffer: 64 * 1024 * 1024,
        })
      yield* Effect.promise(() => step(["build"]))
      return Release.of({ folder, step })
    }),
  )
}

layer(Release.layer, { excludeTestServices: true })("a release", (it) => {
  it.effect("packs every package that is not private, with checksums of what it offers", () =>
    Effect.gen(function* () {
      const { folder } = yield* Release
      const tarballs = readdirSync(folder).filter((file) => file.endsWith(".tgz"))
      assert.sameMembers(
        tarballs,
        published.map(({ name, version }) => `${name.slice(1).replace("/", "-")}-${version}.tgz`),
      )
      const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8").trimEnd().split("\n")
      assert.lengthOf(sums, tarballs.length + 1)
      for (const line of sums) {
        const [sum, file = ""] = line.split("  ")
        const bytes = readFileSync(join(folder, file))
        assert.strictEqual(createHash("sha256").update(bytes).digest("hex"), sum)
      }
      assert.isNotEmpty(readFileSync(join(folder, "notes.md"), "utf8").trim())
    }),
  )

  it.effect("lists what the packages and the image are made of, with licences", () =>
    Effect.gen(function* () {
      const { folder } = yield* Release
      const file = readdirSync(folder).find((name) => name.endsWith(".cdx.json")) ?? ""
      const { components, metadata } = JSON.parse(readFileSync(join(folder, file), "utf8"))
      assert.deepInclude(metadata.component, {
        name: "messaging-service",
        version,
      })
      const names: ReadonlyArray<string> = components.map(
        ({ group, name }: { readonly group?: string; readonly name: string }) =>
          group === undefined ? name : `${group}/${name}`,
      )
      assert.includeMembers([...names], ["effect", "@electric-sql/pglite", "libsignal", "pngjs"])
      for (const name of names) assert.notMatch(name, /^(?:knip|oxlint|rolldown|next|jest)$/)
    }),
  )

  it.effect("publishes in the order of dependencies what the registry lacks", () =>
    Effect.gen(function* () {
      const { step } = yield* Release
      const registry = yield* aRegistry
      const settings = join(yield* processes.temporaryDirectory, "npmrc")
      writeFileSync(settings, `@messaging-service:registry=${registry.url}\n`)
      const { stderr, stdout } = yield* Effect.promise(() =>
        step(["publish", "--dry"], { npm_config_userconfig: settings }),
      )
      for (const name of there) assert.include(stdout, `${name}@${version} is there`)
      const sent = [...stdout.matchAll(/^\+ (@[^@]+)@/gm)].map(([, name]) => name)
      assert.deepStrictEqual(sent, missing, stderr)
    }).pipe(Effect.scoped),
  )

  it.effect("shows the commands for the image and the page, and needs the workflow for them", () =>
    Effect.gen(function* () {
      const { folder, step } = yield* Release
      const image = yield* Effect.promise(() =>
        step(["image", "--dry"], { GITHUB_REPOSITORY: "Team/Messaging", GITHUB_SHA: "abc" }),
      )
      for (const part of [
        "--provenance=mode=max --sbom=true",
        `--tag=ghcr.io/team/messaging:${version} --tag=ghcr.io/team/messaging:latest`,
        "org.opencontainers.image.revision=abc",
      ]) {
        assert.include(image.stdout, part)
      }
      const page = yield* Effect.promise(() => step(["announce", "--dry"]))
      assert.include(page.stdout, `gh release create v${version} --verify-tag --notes-file`)
      assert.include(page.stdout, join(folder, "SHA256SUMS"))
      const failed = yield* Effect.promise(() =>
        step(["image"], { GITHUB_REPOSITORY: "" }).then(
          () => "",
          (error: { readonly stderr: string }) => error.stderr,
        ),
      )
      assert.include(failed, "GITHUB_REPOSITORY is not set")
    }),
  )

  it.effect("refuses a tag that is not the version of the packages, and builds nothing", () =>
    Effect.gen(function* () {
      const { folder, step } = yield* Release
      const before = readdirSync(folder)
      const failed = yield* Effect.promise(() =>
        step(["build", "--tag", "v999.0.0"]).then(
          () => "",
          (error: { readonly stderr: string }) => error.stderr,
        ),
      )
      assert.match(failed, /^v999\.0\.0 cannot be released:\n@messaging-service\//)
      assert.deepStrictEqual(readdirSync(folder), before)
    }),
  )
})
