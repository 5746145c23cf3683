/** Whether an answer has the shape that the service's document gives it. */

/**
 * The name of a type or of a schema; the fields of an object, one that may be missing with `?`; the items of a list, as
 * the only one of an array; or several: it has one of them.
 */
export type Shape = string | ReadonlyArray<Shape> | { readonly [field: string]: Shape }

/** By the names of schemas and of operations. */
export type Shapes = Readonly<Record<string, Shape>>

const hasFields = (
  value: Readonly<Record<string, unknown>>,
  fields: { readonly [field: string]: Shape },
  shapes: Shapes,
): boolean =>
  Object.entries(fields).every(([field, shape]) => {
    const name = field.replace("?", "")
    return (name !== field && value[name] === undefined) || hasShape(value[name], shape, shapes)
  })

/** Fields that the document does not name may be there: a newer service has more of them. */
export const hasShape = (value: unknown, shape: Shape, shapes: Shapes): boolean => {
  if (typeof shape === "string") {
    const named = shapes[shape]
    if (named !== undefined) return hasShape(value, named, shapes)
    return shape === "any" || shape === (value === null ? "null" : typeof value)
  }
  if (Array.isArray(shape)) {
    const [item, ...others] = shape as ReadonlyArray<Shape>
    if (item !== undefined && others.length === 0)
      return Array.isArray(value) && value.every((each) => hasShape(each, item, shapes))
    return (shape as ReadonlyArray<Shape>).some((each) => hasShape(value, each, shapes))
  }
  return (
    typeof value === "object" &&
    value !== null &&
    hasFields(value as Readonly<Record<string, unknown>>, shape as never, shapes)
  )
}
