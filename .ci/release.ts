/**
 * A release, in the steps that .github/workflows/release.yml runs for a tag. Each also runs by hand; `--dry`
 * shows what a step would change outside this machine, and changes nothing there.
 *
 *     pnpm release prepare 0.2.0         versions and changelog, for the commit that gets the tag
 *     pnpm release build --tag v0.2.0    tarballs, bill of materials, notes and checksums in dist/release
 *     pnpm release build server worker   only these tarballs
 *     pnpm release publish               the tarballs that the registry lacks
 *     pnpm release image                 the image, for both processors
 *     pnpm release announce              the page of the release, with its files
 */
import { execFileSync, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { globSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"

const root = resolve(import.meta.dirname, "..")

const pnpm = "pnpm@12.21.0"

/** Publishes with the workflow's own identity, which older ones cannot. */
const npm = "npm@11.19.1"

export interface Manifest {
  readonly name: string
  readonly version: string
  readonly private?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Every package of the workspace, by the path of its manifest. */
const manifests = (): ReadonlyArray<readonly [file: string, Manifest]> =>
  globSync("{packages,apps}/*/package.json", { cwd: root })
    .toSorted()
    .map((file) => [file, JSON.parse(readFileSync(join(root, file), "utf8")) as Manifest])

const published = () => manifests().flatMap(([, each]) => (each.private === true ? [] : [each]))

const read = (file: string): string => readFileSync(join(root, file), "utf8")

/** The version that programs print. */
const versionIn = (source: string): string => /version = "([^"]+)"/.exec(source)?.[1] ?? ""

const isVersion = (text: string): boolean => /^\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?$/.test(text)

/** What a heading of the changelog holds; undefined without that heading. */
export const findNotes = (changelog: string, heading: string): string | undefined => {
  const sections = changelog.split(/^## /m).slice(1)
  const found = sections.find((each) => each.startsWith(`[${heading}]`))
  return found?.slice(found.indexOf("\n")).trim()
}

/** The changelog with what was unreleased under a version. */
export const dated = (changelog: string, version: string, day: string): string => {
  if (!findNotes(changelog, "Unreleased")) throw new Error("CHANGELOG.md has nothing unreleased")
  return changelog.replace(/^## \[Unreleased\]$/m, `## [Unreleased]\n\n## [${version}] - ${day}`)
}

/** What keeps a tag from being released. */
export const tagProblems = (
  tag: string,
  own: ReadonlyArray<Manifest>,
  source: string,
  changelog: string,
): ReadonlyArray<string> => {
  const version = tag.replace(/^v/, "")
  if (!tag.startsWith("v") || !isVersion(version)) return [`${tag} is no tag such as v1.2.3`]
  const others = own.filter((each) => each.version !== version)
  const isDated = new RegExp(
    `^## \\[${version.replaceAll(".", "\\.")}\\] - \\d{4}-\\d\\d-\\d\\d$`,
    "m",
  )
  return [
    ...others.map((each) => `${each.name} has the version ${each.version}`),
    ...(versionIn(source) === version ? [] : [`programs print the version ${versionIn(source)}`]),
    ...(isDated.test(changelog) ? [] : [`CHANGELOG.md has no dated heading [${version}]`]),
    ...(findNotes(changelog, version) === "" ? [`CHANGELOG.md says nothing of ${version}`] : []),
  ]
}

/** Dependencies first: a registry never has a package without its dependencies. */
export const inOrder = (own: ReadonlyArray<Manifest>): ReadonlyArray<string> => {
  const placed = new Set<string>()
  const visit = (name: string): void => {
    const each = own.find((manifest) => manifest.name === name)
    if (each === undefined || placed.has(name)) return
    const needed = { ...each.dependencies, ...each.peerDependencies }
    for (const dependency of Object.keys(needed)) if (dependency !== name) visit(dependency)
    placed.add(name)
  }
  for (const { name } of own) visit(name)
  return [...placed]
}

/** Through a pipe of its own: pnpm gives up when it writes faster than the pipe of a log is read. */
const run = (program: string, ...args: ReadonlyArray<string>): void => {
  const { error, status, stdout } = spawnSync(program, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    maxBuffer: 64 * 2 ** 20,
  })
  if (error !== undefined) throw error
  // What failed has told why here.
  process.stdout.write(stdout)
  if (status !== 0) throw new Error(`failed: ${[program, ...args].join(" ")}`)
}

const tarballName = (name: string, version: string): string =>
  `${name.slice(1).replace("/", "-")}-${version}.tgz`

/** A prerelease is not what others get without asking for it. */
const isPrerelease = (version: string): boolean => version.includes("-")

const prepare = (version: string): void => {
  if (!isVersion(version)) throw new Error(`${version} is no version such as 1.2.3`)
  for (const [file] of manifests()) {
    const text = read(file).replace(/^  "version": "[^"]+"/m, `  "version": "${version}"`)
    writeFileSync(join(root, file), text)
  }
  const source = "packages/core/src/version.ts"
  const text = read(source).replace(/version = "[^"]+"/, `version = "${version}"`)
  writeFileSync(join(root, source), text)
  const day = new Date().toISOString().slice(0, 10)
  writeFileSync(join(root, "CHANGELOG.md"), dated(read("CHANGELOG.md"), version, day))
  console.log(`Commit this as "release: ${version}", then: git tag v${version} && git push --tags`)
}

/** Some packages by their names, with or without the scope; all without names. */
export const selectSome = (
  own: ReadonlyArray<Manifest>,
  names: ReadonlyArray<string>,
): ReadonlyArray<Manifest> => {
  const requested = names.map((name) => (name.includes("/") ? name : `@messaging-service/${name}`))
  const unknown = requested.filter((name) => !own.some((each) => each.name === name))
  if (unknown.length > 0) throw new Error(`no package to publish: ${unknown.join(", ")}`)
  return names.length === 0 ? own : own.filter(({ name }) => requested.includes(name))
}

/** One after the other: each first builds what it depends on, and two builds of one project would meet. */
const pack = (into: string, own: ReadonlyArray<Manifest>): void => {
  rmSync(into, { recursive: true, force: true })
  mkdirSync(into, { recursive: true })
  const chosen = own.flatMap(({ name }) => ["--filter", name])
  const oneByOne = ["-r", "--workspace-concurrency=1", ...chosen]
  run("npx", "-y", pnpm, ...oneByOne, "pack", "--pack-destination", into)
  const missing = own.filter(
    ({ name, version }) => !readdirSync(into).includes(tarballName(name, version)),
  )
  if (missing.length > 0) throw new Error(`not packed: ${missing.map(({ name }) => name).join()}`)
}

/** Without a tag the notes are those of what is unreleased. */
const build = (into: string, tag: string | undefined): void => {
  const own = published()
  const changelog = read("CHANGELOG.md")
  const source = read("packages/core/src/version.ts")
  const problems = tag === undefined ? [] : tagProblems(tag, own, source, changelog)
  if (problems.length > 0) throw new Error(`${tag} cannot be released:\n${problems.join("\n")}`)
  const version = versionIn(source)
  pack(into, own)
  const chosen = own.flatMap(({ name }) => ["--filter", name])
  const materials = join(into, `messaging-service-${version}.cdx.json`)
  run("npx", "-y", pnpm, "sbom", "--prod", ...chosen, ...sbomOptions, "--out", materials)
  writeFileSync(materials, versioned(readFileSync(materials, "utf8"), version))
  writeFileSync(
    join(into, "notes.md"),
    `${findNotes(changelog, tag === undefined ? "Unreleased" : version) ?? ""}\n`,
  )
  writeFileSync(join(into, "SHA256SUMS"), checksums(into))
}

const sbomOptions = ["--sbom-format", "cyclonedx", "--sbom-type", "application"]

/** The workspace itself has no version, and its packages share one. */
const versioned = (materials: string, version: string): string => {
  const document = JSON.parse(materials) as {
    readonly metadata: { readonly component: { readonly name: string } }
  }
  const { component } = document.metadata
  const purl = `pkg:npm/${component.name}@${version}`
  const named = { ...component, version, purl, "bom-ref": purl }
  const metadata = { ...document.metadata, component: named }
  const former = JSON.stringify(`pkg:npm/${component.name}@0.0.0`)
  const text = JSON.stringify({ ...document, metadata }, null, 2)
  return `${text.replaceAll(former, JSON.stringify(purl))}\n`
}

const checksums = (into: string): string =>
  listFiles(into)
    .map((file) => {
      const sum = createHash("sha256")
        .update(readFileSync(join(into, file)))
        .digest("hex")
      return `${sum}  ${file}\n`
    })
    .join("")

/** What is offered for download. */
const listFiles = (into: string): ReadonlyArray<string> =>
  readdirSync(into)
    .filter((file) => /\.(?:tgz|json)$/.test(file))
    .toSorted()

/** Whether the registry has that version. */
const isThere = (name: string, version: string): boolean => {
  try {
    const args = ["-y", npm, "view", `${name}@${version}`, "version"]
    const options = { cwd: root, encoding: "utf8", stdio: "pipe" } as const
    return execFileSync("npx", args, options).trim() === version
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr) : ""
    // Of that package: the registry may also lack npm itself.
    if (said.includes("E404") && said.includes(`'${name}@`)) return false
    throw error
  }
}

/** May be repeated after a failure: what the registry has stays as it is. */
const publish = (into: string, dry: boolean): void => {
  const own = published()
  for (const name of inOrder(own)) {
    const version = own.find((each) => each.name === name)?.version ?? ""
    if (isThere(name, version)) {
      console.log(`${name}@${version} is there`)
      continue
    }
    const channel = isPrerelease(version) ? "next" : "latest"
    const how = dry ? ["--dry-run"] : ["--provenance"]
    const file = join(into, tarballName(name, version))
    run("npx", "-y", npm, "publish", file, "--access", "public", "--tag", channel, ...how)
  }
}

/** Shows a command, and runs it unless the step is dry. */
const outside = (dry: boolean, program: string, ...args: ReadonlyArray<string>): void => {
  console.log([program, ...args].join(" "))
  if (!dry) run(program, ...args)
}

const inCi = (name: string, dry: boolean): string => {
  const text = process.env[name] ?? (dry ? `$${name}` : "")
  if (text === "") throw new Error(`${name} is not set: the workflow runs this step`)
  return text
}

const image = (dry: boolean): void => {
  const version = versionIn(read("packages/core/src/version.ts"))
  const repository = inCi("GITHUB_REPOSITORY", dry)
  const name = `ghcr.io/${repository.toLowerCase()}`
  const tags = [version, ...(isPrerelease(version) ? [] : ["latest"])]
  const labels = {
    version,
    revision: inCi("GITHUB_SHA", dry),
    source: `https://github.com/${repository}`,
  }
  const options = [
    "--push",
    "--platform=linux/amd64,linux/arm64",
    "--provenance=mode=max",
    "--sbom=true",
    ...tags.map((tag) => `--tag=${name}:${tag}`),
    ...Object.entries(labels).map(([key, of]) => `--label=org.opencontainers.image.${key}=${of}`),
  ]
  outside(dry, "docker", "buildx", "create", "--use")
  outside(dry, "docker", "buildx", "build", ...options, ".")
}

const announce = (into: string, dry: boolean): void => {
  const version = versionIn(read("packages/core/src/version.ts"))
  const files = [...listFiles(into), "SHA256SUMS"].map((file) => join(into, file))
  const notes = ["--notes-file", join(into, "notes.md")]
  const kind = isPrerelease(version) ? ["--prerelease"] : []
  outside(
    dry,
    "gh",
    "release",
    "create",
    `v${version}`,
    "--verify-tag",
    ...kind,
    ...notes,
    ...files,
  )
}

const main = (): void => {
  const { positionals, values } = parseArgs({
    options: {
      tag: { type: "string" },
      into: { type: "string", default: join(root, "dist/release") },
      dry: { type: "boolean", default: false },
    },
    allowPositionals: true,
  })
  const [step, ...args] = positionals
  const [version = ""] = args
  const into = resolve(values.into)
  const steps: Readonly<Record<string, () => void>> = {
    prepare: () => prepare(version),
    build: () =>
      args.length === 0 ? build(into, values.tag) : pack(into, selectSome(published(), args)),
    publish: () => publish(into, values.dry),
    image: () => image(values.dry),
    announce: () => announce(into, values.dry),
  }
  const chosen = steps[step ?? ""]
  if (chosen === undefined) throw new Error(`the steps are ${Object.keys(steps).join(", ")}`)
  chosen()
}

if (import.meta.main) {
  try {
    main()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
