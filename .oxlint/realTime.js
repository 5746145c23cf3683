/** Tests on a busy machine: nothing in them may depend on how long it takes. */

const hooks =
  "`timeout` lowers the limit of the layer's hooks, which a retry does not repeat: the project's holds."

const elapsed =
  "A busy machine takes any time: let the order of events decide, or a timer of the process that is under test."

const short =
  "A busy machine reaches this limit: wait for the event itself, or make the limit 2,000 ms or more."

/** What a limit that must not be reached has at least. */
const leastMillis = 2000

const unitMillis = {
  milli: 1,
  millis: 1,
  millisecond: 1,
  milliseconds: 1,
  second: 1000,
  seconds: 1000,
}

/** The milliseconds of a literal duration; NaN of another expression. */
const millisOf = (node) => {
  if (typeof node?.value === "number") return node.value
  const [count, unit] = typeof node?.value === "string" ? node.value.split(" ") : []
  return Number(count) * (unitMillis[unit] ?? Number.NaN)
}

const isMember = (node, object, property) =>
  node.type === "MemberExpression" && node.object.name === object && node.property.name === property

const isCallOf = (node, object, property) =>
  node?.type === "CallExpression" && isMember(node.callee, object, property)

const propertyOf = (node, name) =>
  node?.type === "ObjectExpression"
    ? node.properties.find(({ key }) => key?.name === name)
    : undefined

/** `Effect.timeout` and `within`, with the limit last or first; a test's own limit. */
const limitsOf = ({ arguments: given, callee }) => {
  if (isMember(callee, "Effect", "timeout")) return [given.at(-1)]
  if (callee.name === "within" || callee.property?.name === "within") return [given[0]]
  const isTest = [callee.name, callee.object?.name].some((name) => name === "it" || name === "test")
  return isTest ? [propertyOf(given.at(-1), "timeout")?.value, given.at(-1)] : []
}

/** Refuses limits of layers, measured time and short limits in tests. */
export const noRealTime = {
  create(context) {
    /** Names of `layer` of the test runner. */
    const layers = new Set()
    /** Names of moments of the wall clock. */
    const moments = new Set()
    const report = (node, message) => context.report({ node, message })
    const isMoment = (node) => isCallOf(node, "Date", "now") || moments.has(node.name)
    return {
      ImportDeclaration({ source, specifiers }) {
        if (source.value !== "@effect/vitest") return
        for (const { imported, local } of specifiers) {
          if (imported?.name === "layer") layers.add(local.name)
        }
      },
      VariableDeclarator({ id, init }) {
        if (isCallOf(init, "Date", "now")) moments.add(id.name)
      },
      BinaryExpression(node) {
        if (node.operator === "-" && isMoment(node.left) && isMoment(node.right)) {
          report(node, elapsed)
        }
      },
      CallExpression(node) {
        const { arguments: given, callee } = node
        const isLayer = layers.has(callee.name) || isMember(callee, "it", "layer")
        const limit = isLayer ? propertyOf(given[1], "timeout") : undefined
        if (limit !== undefined) report(limit, hooks)
        const isMeasured = isCallOf(node, "performance", "now") || isCallOf(node, "Effect", "timed")
        if (isMeasured) report(node, elapsed)
        for (const each of limitsOf(node)) if (millisOf(each) < leastMillis) report(each, short)
      },
    }
  },
}
