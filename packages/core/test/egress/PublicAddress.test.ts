import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isPublicAddress } from "../../src/model/Egress.ts"

// These addresses are only parsed: nothing connects to one.
const publicAddresses = [
  "1.1.1.1",
  "8.8.8.8",
  "2606:4700:4700::1111",
  "2a00:1450:4001:82b::200e",
  "2A00:1450:4001:082B:0:0:0:200E",
  "2001:4860:4860::8888",
  "2400:cb00::1",
]

// First and last address of each special-purpose range, and the public neighbours.
const ranges: ReadonlyArray<
  readonly [name: string, first: string, last: string, before: string | null, after: string | null]
> = [
  ["this network", "0.0.0.0", "0.255.255.255", null, "1.0.0.0"],
  ["private 10/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["shared 100.64/10", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["link local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["private 172.16/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["protocol assignments", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["documentation 1", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["AS112", "192.31.196.0", "192.31.196.255", "192.31.195.255", "192.31.197.0"],
  ["AMT", "192.52.193.0", "192.52.193.255", "192.52.192.255", "192.52.194.0"],
  ["6to4 relays", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["private 192.168/16", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["IBM Cloud's services", "161.26.0.0", "161.26.255.255", "161.25.255.255", "161.27.0.0"],
  ["IBM Cloud's services, more", "166.8.0.0", "166.11.255.255", "166.7.255.255", "166.12.0.0"],
  ["Azure's platform", "168.63.129.16", "168.63.129.16", "168.63.129.15", "168.63.129.17"],
  ["Google's private access", "199.36.153.4", "199.36.153.11", "199.36.153.3", "199.36.153.12"],
  ["direct AS112", "192.175.48.0", "192.175.48.255", "192.175.47.255", "192.175.49.0"],
  ["benchmarking", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["documentation 2", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["documentation 3", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["multicast to broadcast", "224.0.0.0", "255.255.255.255", "223.255.255.255", null],
  ["below 2000::/3", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null, "2000::"],
  ["2001::/23", "2001::", "2001:1ff:ffff:ffff::", "2000:ffff::ffff", "2001:200::"],
  ["documentation", "2001:db8::", "2001:db8:ffff::ffff", "2001:db7:ffff::", "2001:db9::"],
  ["6to4", "2002::", "2002:ffff:ffff::ffff", "2001:ffff:ffff::", "2003::"],
  ["AS112 in IPv6", "2620:4f:8000::", "2620:4f:8000:ffff::", "2620:4f:7fff::", "2620:4f:8001::"],
  ["documentation 3fff::/20", "3fff::", "3fff:fff:ffff::ffff", "3ffe:ffff:ffff::", "3fff:1000::"],
  ["above 2000::/3", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff::", null],
]

const notPublic = [
  ["loopback", "::1"],
  ["unspecified", "::"],
  ["mapped", "::ffff:8.8.8.8"],
  ["mapped, in hexadecimal", "::ffff:808:808"],
  ["mapped loopback", "::ffff:127.0.0.1"],
  ["translated", "::ffff:0:8.8.8.8"],
  ["compatible", "::8.8.8.8"],
  ["NAT64", "64:ff9b::8.8.8.8"],
  ["local NAT64", "64:ff9b:1::808:808"],
  ["discard", "100::1"],
  ["Teredo", "2001:0:808:808::1"],
  ["benchmarking", "2001:2::1"],
  ["ORCHID", "2001:10::1"],
  ["ORCHIDv2", "2001:20::1"],
  ["6to4 of a public address", "2002:808:808::1"],
  ["segment routing", "5f00::1"],
  ["unique local", "fc00::1"],
  ["unique local", "fdff:ffff::1"],
  ["link local", "fe80::1"],
  ["site local", "fec0::1"],
  ["metadata of most clouds", "169.254.169.254"],
  ["metadata of AWS containers", "169.254.170.2"],
  ["metadata of Alibaba", "100.100.100.200"],
  ["metadata of Oracle", "192.0.0.192"],
  ["metadata of AWS", "fd00:ec2::254"],
  ["DNS of AWS", "fd00:ec2::253"],
  ["metadata of Google", "fd20:ce::254"],
  ["metadata of Oracle", "fd00:c1::a9fe:a9fe"],
  ["metadata of Scaleway", "fd00:42::42"],
  ["metadata of OpenStack", "fe80::a9fe:a9fe"],
  ["mapped platform of Azure", "::ffff:168.63.129.16"],
  ["NAT64 of Azure's platform", "64:ff9b::a83f:8110"],
  ["6to4 of Azure's platform", "2002:a83f:8110::1"],
  ["multicast", "ff02::1"],
] as const

const noAddress = [
  "",
  " ",
  "8.8.8",
  "8.8.8.8.8",
  "8.8.8.8 ",
  " 8.8.8.8",
  "8.8.8.8\n",
  "8.8.8.8/32",
  "8.8.8.256",
  "08.8.8.8",
  "0x8.8.8.8",
  "134744072",
  "8.526344",
  "[2606:4700::1111]",
  "2606:4700::1111%eth0",
  "2606:4700::1111%1",
  "fe80::1%eth0",
  "2606:4700::1111::1",
  "2606:4700",
  "2606:4700::1111/64",
  "2606:4700::fffff",
  "example.com",
  "localhost",
  "2606:".repeat(100_000),
]

describe("public addresses are the global unicast ones", () => {
  it.effect("accepts an address outside every special-purpose range", () =>
    Effect.sync(() => {
      for (const ip of publicAddresses) assert.isTrue(isPublicAddress(ip), ip)
    }),
  )

  it.effect("rejects a special-purpose range from its first to its last address", () =>
    Effect.sync(() => {
      for (const [name, first, last, before, after] of ranges) {
        assert.isFalse(isPublicAddress(first), `first of ${name}`)
        assert.isFalse(isPublicAddress(last), `last of ${name}`)
        if (before !== null) assert.isTrue(isPublicAddress(before), `before ${name}`)
        if (after !== null) assert.isTrue(isPublicAddress(after), `after ${name}`)
      }
    }),
  )

  it.effect("rejects local, mapped and translated forms", () =>
    Effect.sync(() => {
      for (const [name, ip] of notPublic) assert.isFalse(isPublicAddress(ip), `${name}: ${ip}`)
    }),
  )

  it.effect("rejects a zone and anything but a plain address", () =>
    Effect.sync(() => {
      for (const text of noAddress) assert.isFalse(isPublicAddress(text), text.slice(0, 40))
    }),
  )
})
