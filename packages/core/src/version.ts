/**
 * The version of every package of this release. A constant and not read from a manifest: bundles and
 * edge hosts have none. A test compares it with the manifests.
 */
export const version = "0.1.0"
