/**
 * A certificate that signs itself for `media.example`, valid from 2020 to 2120, and its key. It is known
 * to every reader and good for nothing but these tests.
 */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBbDCCAROgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1tZWRpYS5l
eGFtcGxlMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1tZWRpYS5leGFtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtATP
kGOCwySsFLO8CqZ/36XMoL/cJAqZnfaLJOmLt4UPc2mTb5h4fjrJeGQ/L3Wxbtfi
H4Oz8XqykU/dJhVgQKNMMEowDwYDVR0TAQH/BAUwAwEB/zAYBgNVHREEETAPgg1t
ZWRpYS5leGFtcGxlMB0GA1UdDgQWBBTLfe0MogW9BLS8w4UWeWzXX6QVrzAKBggq
hkjOPQQDAgNHADBEAiBy5IzNsp17rK2yrv2s7JvEoY4OaBa7qCLXiOi1ufcBeAIg
G84q+4P5SOLd0LRy5BTP6eNJc4+JKbpsbzOObXkB/A0=
-----END CERTIFICATE-----`

export const privateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg1Vn6S531HJOdZaKp
y0rgaEdHCKIwmuAH3mgVZ/2iGIOhRANCAAS0BM+QY4LDJKwUs7wKpn/fpcygv9wk
Cpmd9osk6Yu3hQ9zaZNvmHh+Osl4ZD8vdbFu1+Ifg7PxerKRT90mFWBA
-----END PRIVATE KEY-----`
