/** The site: its parts in the order of its readers, search that needs no server. */
import { defineConfig } from "vitepress"
import { toSlug, toTitle } from "../src/markdown.ts"
import { sitePages, siteParts } from "../src/pages.ts"
import { boostPage } from "../src/search.ts"

const pages = sitePages()

const item = (page: string) => ({
  text: toTitle(pages.get(`${page}.md`) ?? ""),
  link: page.endsWith("index") ? `/${page.slice(0, -"index".length)}` : `/${page}`,
})

export default defineConfig({
  title: "Messaging Service",
  description: "A messaging gateway that you run yourself or embed",
  srcDir: "pages",
  // Markdown that is served as it is.
  srcExclude: ["public/**"],
  outDir: "dist",
  base: process.env["SITE_BASE"] ?? "/",
  lang: "en",
  // Links to the page of the interface, which the generator does not make's.
  ignoreDeadLinks: [/\/http\/(?:index)?$/],
  markdown: {
    anchor: { slugify: toSlug },
    languageAlias: { promql: "txt" },
    // Vue would take two braces in code for an expression.
    config: ({ core }) =>
      core.ruler.push("verbatimCode", ({ tokens }) => {
        for (const { children } of tokens) {
          for (const token of children ?? [])
            if (token.type === "code_inline") token.attrSet("v-pre", "")
        }
      }),
  },
  themeConfig: {
    search: {
      provider: "local",
      options: {
        detailedView: true,
        miniSearch: { searchOptions: { boostDocument: boostPage } },
      },
    },
    outline: { level: [2, 3] },
    nav: [
      { text: "Start", link: "/tutorial-first-message" },
      { text: "Contract", link: "/contract" },
      { text: "HTTP interface", link: "/http/index.html", target: "_self" },
    ],
    sidebar: siteParts(pages).map(({ pages: own, title }) => ({
      text: title,
      collapsed: title === "Decisions",
      items: own.map(item),
    })),
  },
})
