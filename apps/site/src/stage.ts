/** Writes the pages, and what is served with them, into the folders that the generator reads. */
import { open } from "@messaging-service/service"
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { llmsText, root, sitePages } from "./pages.ts"

export const siteFolder = join(root, "apps/site")
const stagedFolder = join(siteFolder, "pages")

const write = async (folder: string, files: ReadonlyMap<string, string>) => {
  for (const [path, text] of files) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
}

const servedFrom = "http://127.0.0.1:8080"

/** A page of the service for the site: its links lead within the site, and one leads back. */
const toSitePage = (html: string, up: string): string => {
  const back = `<p style="position:fixed;bottom:0;right:1rem;margin:0;padding:.3rem .8rem;background:#0b6b57"><a style="color:#fff" href="${up}../index.html">Back to the documentation</a></p>`
  const end = html.includes("</body>") ? "</body>" : "</html>"
  return html
    .replaceAll(`${servedFrom}/docs/operations`, `${up}operations/index.html`)
    .replaceAll(`${servedFrom}/docs/errors`, `${up}errors/index.html`)
    .replaceAll(`${servedFrom}/openapi.json`, `${up}../openapi.json`)
    .replace(new RegExp(`${end}(?![^]*${end})`), () => `${back}\n${end}`)
}

/** Everything that is served as it is: the service's own page of its interface, and Markdown. */
const servedFiles = async (): Promise<ReadonlyMap<string, string>> => {
  const pages = sitePages()
  const messaging = await open({
    // With a token the document has the operator's operations too.
    http: { publicUrl: servedFrom, operatorToken: "a token that is never asked with" },
  })
  try {
    const answer = async (path: string): Promise<string> => {
      const response = await messaging.handler(new Request(`${servedFrom}${path}`))
      if (!response.ok) throw new Error(`${path}: ${response.status}`)
      return response.text()
    }
    return new Map([
      ...pages,
      ["llms.txt", llmsText(pages)],
      ["webhook-vectors.json", await readFile(join(root, "docs/webhook-vectors.json"), "utf8")],
      ["openapi.json", await answer("/openapi.json")],
      ["http/index.html", toSitePage(await answer("/docs"), "")],
      ["http/operations/index.html", toSitePage(await answer("/docs/operations"), "../")],
      ["http/errors/index.html", toSitePage(await answer("/docs/errors"), "../")],
    ])
  } finally {
    await messaging.close()
  }
}

export const stage = async (): Promise<void> => {
  await rm(stagedFolder, { recursive: true, force: true })
  await write(stagedFolder, sitePages())
  await cp(join(root, "docs/pictures"), join(stagedFolder, "pictures"), { recursive: true })
}

export const stageServed = async (): Promise<void> => {
  const served = join(stagedFolder, "public")
  await write(served, await servedFiles())
  await cp(join(root, "docs/pictures"), join(served, "pictures"), { recursive: true })
}
