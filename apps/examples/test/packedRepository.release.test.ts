/**
 * The packed packages name the repository of the packed clone. This clone has this repository's
 * manifests and hook, and its own origin.
 */
import { createPackageFromTarballData } from "@arethetypeswrong/core"
import { assert, layer } from "@effect/vitest"
import { processes } from "@messaging-service/testkit"
import { Context, Effect, Layer } from "effect"
import { globSync } from "node:fs"
import { cp, mkdir, readFile, readdir, rm, symlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { published, root, run } from "./packed/Project.ts"

interface Packed {
  readonly name: string
  readonly repository?: unknown
}

class Clone extends Context.Service<
  Clone,
  {
    /** Packs with that origin, and with `REPOSITORY`; returns the manifests and the messages. */
    pack(
      origin: string,
      repository?: string,
      names?: ReadonlyArray<string>,
    ): Effect.Effect<{ readonly manifests: ReadonlyArray<Packed>; readonly said: string }>
  }
>()("test/Clone") {
  static readonly layer = Layer.effect(
    Clone,
    Effect.gen(function* () {
      const created = yield* processes.temporaryDirectory
      const clone = join(created, "clone")
      const git = (...args: ReadonlyArray<string>) =>
        run(clone, "git", "-c", "user.name=Test", "-c", "user.email=test@example.com", ...args)
      yield* Effect.promise(async () => {
        const manifests = globSync("packages/*/package.json", { cwd: root })
        const files = [".pnpmfile.mjs", "package.json", "pnpm-workspace.yaml", ...manifests]
        for (const file of files) {
          await mkdir(dirname(join(clone, file)), { recursive: true })
          await cp(join(root, file), join(clone, file))
        }
        for (const folder of [".", ...manifests.map((file) => dirname(file))]) {
          await symlink(join(root, folder, "node_modules"), join(clone, folder, "node_modules"))
        }
      })
      yield* git("init", "--quiet")
      yield* git("add", "--all")
      yield* git("commit", "--quiet", "--message", "Made")
      const pack = Effect.fnUntraced(function* (
        origin: string,
        repository = "",
        names: ReadonlyArray<string> = ["@messaging-service/client"],
      ) {
        yield* git("config", "remote.origin.url", origin)
        const tarballs = join(created, "tarballs")
        yield* Effect.promise(() => rm(tarballs, { recursive: true, force: true }))
        yield* Effect.promise(() => mkdir(tarballs))
        // A shell merges messages into the output.
        const said = yield* run(
          clone,
          "sh",
          "-c",
          'REPOSITORY="$1" && export REPOSITORY && shift && exec "$@" 2>&1',
          "sh",
          repository,
          "npx",
          "-y",
          "pnpm@12.21.0",
          "--config.verify-deps-before-run=false",
          "-r",
          ...names.flatMap((name) => ["--filter", name]),
          "pack",
          "--ignore-scripts",
          "--pack-destination",
          tarballs,
        )
        // Nothing of it is written into the tree.
        assert.strictEqual(yield* git("status", "--porcelain"), "")
        const manifests = yield* Effect.promise(async () => {
          const files = await readdir(tarballs)
          return Promise.all(
            files.map(async (file): Promise<Packed> => {
              const bytes = new Uint8Array(await readFile(join(tarballs, file)))
              const packed = createPackageFromTarballData(bytes)
              const manifest = `/node_modules/${packed.packageName}/package.json`
              return JSON.parse(packed.readFile(manifest)) as Packed
            }),
          )
        })
        return { manifests, said }
      }, Effect.orDie)
      return Clone.of({ pack })
    }),
  )
}

const url = "git+https://git.example.com/team/messaging.git"

const silent = "name no repository"

layer(Clone.layer, { excludeTestServices: true })("packed packages", (it) => {
  it.effect("name the clone's origin, each with its folder", () =>
    Effect.gen(function* () {
      const { pack } = yield* Clone
      const { manifests, said } = yield* pack(
        "https://git.example.com/team/messaging.git",
        "https://git.example.com/another",
        published,
      )
      assert.sameMembers(
        manifests.map(({ name }) => name),
        [...published],
      )
      for (const { name, repository } of manifests) {
        const directory = `packages/${name.split("/")[1]}`
        assert.deepStrictEqual(repository, { type: "git", url, directory })
      }
      assert.notInclude(said, silent)
    }),
  )

  it.effect("name it by a public address", () =>
    Effect.promise(async () => {
      const { repositoryUrl } = await import(join(root, ".pnpmfile.mjs"))
      for (const origin of [
        "git@git.example.com:team/messaging.git",
        "ssh://git@git.example.com:2222/team/messaging",
        "https://person:a-secret@git.example.com/team/messaging/",
      ]) {
        assert.strictEqual(repositoryUrl(origin), url, origin)
      }
      for (const origin of [
        "",
        "../messaging",
        "/srv/messaging",
        "ssh://git@127.0.0.1/team/messaging",
        "https://git/team",
      ]) {
        assert.isUndefined(repositoryUrl(origin), origin)
      }
    }),
  )

  it.effect("name REPOSITORY where the origin is not a public address", () =>
    Effect.gen(function* () {
      const { pack } = yield* Clone
      const { manifests } = yield* pack("/srv/messaging", "https://git.example.com/team/messaging")
      assert.deepInclude(manifests[0]?.repository, { url })
    }),
  )

  it.effect("name none, and say so once, where neither is public", () =>
    Effect.gen(function* () {
      const { pack } = yield* Clone
      const names = ["@messaging-service/client", "@messaging-service/core"]
      const { manifests, said } = yield* pack("ssh://git@127.0.0.1/team/messaging", "", names)
      assert.lengthOf(manifests, 2)
      for (const { repository } of manifests) assert.isUndefined(repository)
      assert.lengthOf(said.split(silent), 2)
    }),
  )
})
