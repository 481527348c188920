//! Tests of permitted and refused webhook targets (rules: webhooks#targets).
//!
//! The expected results for addresses come from the IANA registries (IPv4 and IPv6 Special-Purpose
//! Address Registry, IPv6 Address Space, Multicast). The results for names come from the rules of
//! webhooks. No expected result is taken from the code.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::json;

use test_support::{App, Org, on_both};

/// Maximum number of targets for which a test uses one credential. It is below the limit of 100
/// active subscriptions.
const TARGETS_PER_KEY: usize = 90;

/// A special-purpose range of IP addresses: its name (`what`), and its first and last address.
/// `outside` has the addresses directly before and after the range, if they are public.
struct Range {
    what: &'static str,
    first: &'static str,
    last: &'static str,
    outside: &'static [&'static str],
}

const fn range(
    what: &'static str,
    first: &'static str,
    last: &'static str,
    outside: &'static [&'static str],
) -> Range {
    Range {
        what,
        first,
        last,
        outside,
    }
}

const RANGES: [Range; 36] = [
    range("this network", "0.0.0.0", "0.255.255.255", &["1.0.0.0"]),
    range(
        "private use",
        "10.0.0.0",
        "10.255.255.255",
        &["9.255.255.255", "11.0.0.0"],
    ),
    range(
        "shared by carriers",
        "100.64.0.0",
        "100.127.255.255",
        &["100.63.255.255", "100.128.0.0"],
    ),
    range(
        "loopback",
        "127.0.0.0",
        "127.255.255.255",
        &["126.255.255.255", "128.0.0.0"],
    ),
    // Ranges of public addresses that clouds use for internal services.
    range(
        "IBM Cloud",
        "161.26.0.0",
        "161.26.255.255",
        &["161.25.255.255", "161.27.0.0"],
    ),
    range(
        "IBM Cloud",
        "166.8.0.0",
        "166.11.255.255",
        &["166.7.255.255", "166.12.0.0"],
    ),
    range(
        "Azure",
        "168.63.129.16",
        "168.63.129.16",
        &["168.63.129.15", "168.63.129.17"],
    ),
    range(
        "link-local",
        "169.254.0.0",
        "169.254.255.255",
        &["169.253.255.255", "169.255.0.0"],
    ),
    range(
        "private use",
        "172.16.0.0",
        "172.31.255.255",
        &["172.15.255.255", "172.32.0.0"],
    ),
    range(
        "protocol assignments",
        "192.0.0.0",
        "192.0.0.255",
        &["191.255.255.255", "192.0.1.0"],
    ),
    range(
        "documentation",
        "192.0.2.0",
        "192.0.2.255",
        &["192.0.1.255", "192.0.3.0"],
    ),
    range(
        "6to4 relays",
        "192.88.99.0",
        "192.88.99.255",
        &["192.88.98.255", "192.88.100.0"],
    ),
    range(
        "private use",
        "192.168.0.0",
        "192.168.255.255",
        &["192.167.255.255", "192.169.0.0"],
    ),
    range(
        "benchmarking",
        "198.18.0.0",
        "198.19.255.255",
        &["198.17.255.255", "198.20.0.0"],
    ),
    range(
        "documentation",
        "198.51.100.0",
        "198.51.100.255",
        &["198.51.99.255", "198.51.101.0"],
    ),
    range(
        "documentation",
        "203.0.113.0",
        "203.0.113.255",
        &["203.0.112.255", "203.0.114.0"],
    ),
    range(
        "multicast",
        "224.0.0.0",
        "239.255.255.255",
        &["223.255.255.255"],
    ),
    range("reserved", "240.0.0.0", "255.255.255.255", &[]),
    range("unspecified, loopback", "::", "::1", &[]),
    range(
        "translated by SIIT",
        "::ffff:0:0:0",
        "::ffff:0:ffff:ffff",
        &[],
    ),
    range(
        "reserved",
        "1::",
        "63:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range("discard only", "100::", "100::ffff:ffff:ffff:ffff", &[]),
    range(
        "dummy prefix",
        "100:0:0:1::",
        "100::1:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "not given out",
        "200::",
        "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        &["2000::"],
    ),
    range(
        "Teredo",
        "2001::",
        "2001:0:ffff:ffff:ffff:ffff:ffff:ffff",
        &["2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
    ),
    range(
        "benchmarking",
        "2001:2::",
        "2001:2:0:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "ORCHID",
        "2001:10::",
        "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "ORCHIDv2",
        "2001:20::",
        "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "protocol assignments",
        "2001:40::",
        "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
        &["2001:200::"],
    ),
    range(
        "documentation",
        "2001:db8::",
        "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
        &["2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
    ),
    range(
        "documentation",
        "3fff::",
        "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
        &["3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
    ),
    range(
        "not given out, segment routing in it",
        "4000::",
        "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "unique local",
        "fc00::",
        "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "link-local",
        "fe80::",
        "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "site-local",
        "fec0::",
        "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
    range(
        "multicast",
        "ff00::",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        &[],
    ),
];

/// IPv4 addresses that the tests put into IPv6 addresses, and whether the service may accept each
/// of them.
const WRAPPED: [(&str, bool); 10] = [
    ("10.0.0.8", false),
    ("100.64.0.1", false),
    ("127.0.0.1", false),
    ("168.63.129.16", false),
    ("169.254.169.254", false),
    ("172.16.0.1", false),
    ("192.168.1.1", false),
    ("224.0.0.1", false),
    ("255.255.255.255", false),
    ("8.8.8.8", true),
];

#[rustfmt::skip]
const HOSTILE: [(&str, &[&str]); 22] = [
    (
        "another scheme, or none",
        &[
            "http://hooks.example/", "HTTP://hooks.example/", "ftp://hooks.example/",
            "ws://hooks.example/", "wss://hooks.example/", "file:///etc/passwd",
            "gopher://hooks.example/", "data:text/plain,x", "javascript:alert(1)",
            "blob:https://hooks.example/x", "unix:/run/docker.sock", "httpss://hooks.example/",
            "https+unix://hooks.example/", "view-source:https://hooks.example/", "//hooks.example/",
            "/hooks", "hooks.example", "hooks.example:443/x", "127.0.0.1", "[::1]", "::", "",
            "https", "nonsense", "urn:uuid:0192f0c1-0000-7000-8000-000000000001",
        ],
    ),
    (
        "not in full",
        &[
            "https:", "https:/", "https://", "https:///", "https:////", "https:hooks.example",
            "https:/hooks.example/", "https:///hooks.example/", "https:////hooks.example/",
            "https://?x", "https://#x", "https:// /", "https://:443/", "https://:/", "https://./",
            "https://../",
        ],
    ),
    (
        "userinfo",
        &[
            "https://u:p@hooks.example/", "https://u@hooks.example/", "https://:p@hooks.example/",
            "https://@hooks.example/", "https://:@hooks.example/", "https://@@hooks.example/",
            "https://u:p@@hooks.example/", "https://hooks.example@127.0.0.1/",
            "https://hooks.example:443@127.0.0.1/", "https://hooks.example%2f@127.0.0.1/",
            "https://hooks.example%23@127.0.0.1/", "https://127.0.0.1@hooks.example/",
            "https://%75:%70@hooks.example/", "https://u:p@[2606:4700::1111]/",
            "https://ü@hooks.example/",
        ],
    ),
    (
        "white space and control characters",
        &[
            " https://hooks.example/", "https://hooks.example/ ", "\thttps://hooks.example/",
            "https://hooks.example/\n", "ht\ttps://hooks.example/", "https:\n//hooks.example/",
            "https://hooks\t.example/", "https://hooks\r\n.example/", "https://hooks.example/a b",
            "https://hooks.example/\r\nx-header: y", "https://hooks.example\u{b}/",
            "https://hooks.example/\u{1}", "https://hooks.example/\u{7f}",
            "https://hooks.example/\u{85}", "https://hooks.example/\u{a0}",
            "https://hooks.example/\u{2003}", "https://hooks.example/\u{2028}",
            "https://hooks.example/\u{3000}", "https://127.0.0.1\t/", "https://127.\n0.0.1/",
            "https://hooks .example/", "\u{feff}https://hooks.example/",
            "https://hooks.example/\u{1b}[31m",
        ],
    ),
    (
        "backslashes",
        &[
            "https:\\\\hooks.example\\", "https:/\\hooks.example/",
            "https://hooks.example\\@127.0.0.1/", "https://127.0.0.1\\@hooks.example/",
            "https://127.0.0.1\\/", "https://hooks.example\\", "https://hooks.example/a\\..\\b",
            "\\\\hooks.example\\x",
        ],
    ),
    (
        "ports there are not",
        &[
            "https://hooks.example:65536/", "https://hooks.example:99999/",
            "https://hooks.example:4294967739/", "https://hooks.example:-1/",
            "https://hooks.example:+443/", "https://hooks.example:x/",
            "https://hooks.example:443x/", "https://hooks.example:44 3/",
            "https://hooks.example:0x1bb/", "https://hooks.example::443/",
            "https://hooks.example:443:443/", "https://hooks.example:%34%34%33/",
            "https://hooks.example:٤٤٣/",
        ],
    ),
    (
        "hosts there are not",
        &[
            "https://ho<oks.example/", "https://ho>oks.example/", "https://ho^oks.example/",
            "https://ho|oks.example/", "https://[hooks.example]/", "https://hooks].example/",
            "https://exa%00mple.example/", "https://exa%20mple.example/",
            "https://exa%2fmple.example/", "https://exa%3ample.example/",
            "https://exa%40mple.example/", "https://exa%5cmple.example/",
            "https://exa%23mple.example/", "https://exa%3fmple.example/",
            "https://exa%zzmple.example/", "https://exa%mple.example/", "https://%/",
            "https://%ff.example/", "https://xn--localhost-/", "https://xn--0.example/",
            "https://xn--a-ecp.ru/",
        ],
    ),
    (
        "numbers that are no address",
        &[
            "https://256.1.1.1/", "https://1.256.1.1/", "https://1.1.1.256/", "https://1.1.65536/",
            "https://1.16777216/", "https://4294967296/", "https://99999999999/",
            "https://1.2.3.4.5/", "https://0x7f.1.2.3.4/", "https://127.0.0.08/",
            "https://0x100000000/", "https://040000000000/", "https://1..2/", "https://127.0..1/",
            "https://hooks.127/", "https://hooks.0x7f000001/", "https://hooks.example.1/",
        ],
    ),
    (
        "127.0.0.1, disguised",
        &[
            "https://127.0.0.1", "https://127.0.0.1/", "https://127.0.0.1:443/",
            "https://127.0.0.1:8443/x?y#z", "HTTPS://127.0.0.1/", "https://127.0.0.1./",
            "https://127.0.0.1.:443/", "https://127.1/", "https://127.0.1/", "https://127.00000.1/",
            "https://2130706433/", "https://0x7f000001./", "https://017700000001/",
            "https://0000017700000001/", "https://0177.0.0.1/", "https://0177.0.0.01/",
            "https://00177.00.00.01/", "https://0177.1/", "https://0x7f000001/",
            "https://0X7F000001/", "https://0x0000007f000001/", "https://0x7f.0.0.1/",
            "https://0x7F.0x0.0x0.0x1/", "https://0x7f.1/", "https://0x7f.0.1/",
            "https://0x7f.0.0x1/", "https://0177.0.0x0.1/", "https://127.0x1/",
            "https://127.0.0x1/", "https://127.0.0.0x1/", "https://127.0.256/",
            "https://127.65536/", "https://127.0x./", "https://0x7f.0.0.0x1./",
            "https://%31%32%37.0.0.1/", "https://127%2e0%2e0%2e1/", "https://127%2E1/",
            "https://%30x7f.1/", "https://１２７.０.０.１/", "https://127。0。0。1/", "https://127．0．0．1/",
            "https://127｡0｡0｡1/", "https://①②⑦.⓪.⓪.①/", "https://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", "https://₁₂₇.₀.₀.₁/",
            "https://¹²⁷.⁰.⁰.¹/", "https://127\u{ad}.0.0.1/", "https://\u{feff}127.0.0.1/",
            "https://127.0.0.1\u{200b}/", "https://127.0.0.1#@hooks.example/",
            "https://127.0.0.1?@hooks.example/", "https://127.0.0.1/@hooks.example/",
            "https://127.0.0.1#hooks.example", "https://127.0.0.1?hooks.example",
        ],
    ),
    (
        "0.0.0.0, disguised",
        &[
            "https://0/", "https://0.0/", "https://0.0.0/", "https://00000000/", "https://0x/",
            "https://0x0/", "https://0x.0x.0x.0x/", "https://０/",
        ],
    ),
    (
        "169.254.169.254, disguised",
        &[
            "https://169.254.169.254/latest/meta-data/", "https://169.254.43518/",
            "https://169.16689662/", "https://2852039166/", "https://0xa9fea9fe/",
            "https://0xA9.0xFE.0xA9.0xFE/", "https://0251.0376.0251.0376/", "https://025177524776/",
            "https://0251.254.0xa9.254/", "https://169.254.169.0376/", "https://169。254。169。254/",
            "https://[::ffff:169.254.169.254]/", "https://[::ffff:a9fe:a9fe]/",
        ],
    ),
    (
        "private addresses, disguised",
        &[
            "https://10.8/", "https://012.0.0.8/", "https://0xa000008/", "https://167772168/",
            "https://172.1048577/", "https://0xac100001/", "https://192.168.257/",
            "https://0300.0250.1.1/", "https://3232235777/", "https://0xc0.0xa8.0x1.0x1/",
            "https://0x64400001/", "https://0144.0100.0.1/", "https://0xffffffff/",
            "https://4294967295/", "https://037777777777/", "https://255.16777215/",
        ],
    ),
    (
        "::1 and ::, disguised",
        &[
            "https://[::1]", "https://[::1]/", "https://[::1]:8443/", "https://[::01]/",
            "https://[::0001]/", "https://[0::1]/", "https://[0::0:1]/",
            "https://[0:0:0:0:0:0:0:1]/", "https://[0000:0000:0000:0000:0000:0000:0000:0001]/",
            "https://[::0.0.0.1]/", "https://[0:0:0:0:0:0:0.0.0.1]/", "https://[::]/",
            "https://[0::]/", "https://[::0]/", "https://[0:0:0:0:0:0:0:0]/",
            "https://[::0.0.0.0]/", "https://[::]:443/",
        ],
    ),
    (
        "IPv6 that is none, or only here",
        &[
            "https://[::1/", "https://::1]/", "https://::1/", "https://[]/", "https://[:]/",
            "https://[:::1]/", "https://[1::2::3]/", "https://[::12345]/",
            "https://[1:2:3:4:5:6:7]/", "https://[1:2:3:4:5:6:7:8:9]/", "https://[127.0.0.1]/",
            "https://[::127.0.0.1.1]/", "https://[::127.1]/", "https://[::0x7f.0.0.1]/",
            "https://[::256.0.0.1]/", "https://[::g]/", "https://[v1.fe80::1]/",
            "https://[fe80::1%eth0]/", "https://[fe80::1%25eth0]/", "https://[fe80::1%251]/",
            "https://[::1%25lo]/", "https://[::1]x/", "https://x[::1]/", "https://[[::1]]/",
            "https://%5b::1%5d/", "https://[%3a%3a1]/", "https://[2606:4700::1111%25eth0]/",
            "https://［::1］/",
        ],
    ),
    (
        "wrapped in other ways than by a /96",
        &[
            // These NAT64 addresses have prefixes of 48, 56 and 64 bits (RFC 6052).
            "https://[64:ff9b:1:a00:0:100::]/", "https://[64:ff9b:1:7f00:0:100::]/",
            "https://[64:ff9b:1:c0a8:1:100::]/", "https://[64:ff9b:1:7f:0:1::]/",
            "https://[64:ff9b:1:0:7f:0:100:0]/", "https://[64:ff9b:1:ffff:ffff:ffff:ffff:ffff]/",
            "https://[64:ff9b:2::10.0.0.1]/", "https://[64:ff9b:0:1::10.0.0.1]/",
            // The first two addresses are Teredo addresses: one contains 127.0.0.1 as the server,
            // the other as the client. A Teredo address stores the client's address inverted.
            "https://[2001:0:7f00:1::]/", "https://[2001:0:808:808:0:0:80ff:fffe]/",
            "https://[2002:7f00:1:ffff:ffff:ffff:ffff:ffff]/", "https://[2002:a9fe:a9fe:1::1]/",
            "https://[::fffe:127.0.0.1]/", "https://[::1:127.0.0.1]/",
        ],
    ),
    (
        "localhost",
        &[
            "https://localhost", "https://localhost/", "https://localhost:8443/x",
            "https://LOCALHOST/", "https://LocalHost/", "https://localhost./",
            "https://LOCALHOST.:443/", "https://localhost../", "https://a.localhost/",
            "https://a.b.LOCALHOST./", "https://.localhost/", "https://localhost.localdomain/",
            "https://localhost.LocalDomain./", "https://a.localhost.localdomain/",
            "https://localhost?hooks.example", "https://localhost#hooks.example",
            "https://localhost/hooks.example", "https://local%68ost/",
            "https://%6c%6f%63%61%6c%68%6f%73%74/", "https://localhost%2e/",
            "https://a%2elocalhost/",
        ],
    ),
    (
        "localhost, disguised",
        &[
            "https://ｌｏｃａｌｈｏｓｔ/", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "https://LOCALHOST。/",
            "https://localhost。/", "https://a。localhost/", "https://a．ｌｏｃａｌｈｏｓｔ｡/",
            "https://localhoſt/", "https://ⅼocalhost/", "https://𝓵𝓸𝓬𝓪𝓵𝓱𝓸𝓼𝓽/",
            "https://loc\u{ad}alhost/", "https://local\u{200b}host/", "https://local\u{2060}host/",
            "https://localho\u{fe0f}st/", "https://ᴸocalhost/", "https://%ef%bd%8cocalhost/",
        ],
    ),
    (
        "names of this network",
        &[
            "https://local/", "https://printer.local/", "https://PRINTER.LOCAL./",
            "https://a.b.local/", "https://internal/", "https://db.internal/",
            "https://metadata.google.internal/computeMetadata/v1/",
            "https://ip-10-0-0-8.eu-west-1.compute.internal/", "https://DB.Internal.:5432/",
            "https://home.arpa/", "https://nas.home.arpa/", "https://nas.HOME.arpa./",
        ],
    ),
    (
        "names that networks give themselves",
        &[
            "https://wiki.intranet/", "https://db.corp/", "https://DB.Corp./", "https://nas.lan/",
            "https://nas.home/", "https://a.b.private/", "https://host.docker.internal/",
            "https://instance-data.ec2.internal/latest/", "https://nas.ｌａｎ/",
        ],
    ),
    (
        "names of one label",
        &[
            "https://metadata/", "https://instance-data/latest/meta-data/", "https://data-server/",
            "https://kubernetes/", "https://redis:6379/", "https://METADATA./", "https://ai/",
            "https://com./", "https://bücher/", "https://xn--bcher-kva/", "https://ｍｅｔａｄａｔａ/",
            "https://a\u{ad}/", "https://under_score/",
        ],
    ),
    (
        "the clouds' own addresses",
        &[
            "https://168.63.129.16/machine/?comp=goalstate", "https://168.63.129.16:32526/",
            "https://2822734096/", "https://0xa83f8110/", "https://[::ffff:168.63.129.16]/",
            "https://[64:ff9b::a83f:8110]/", "https://100.100.100.200/latest/meta-data/",
            "https://192.0.0.192/latest/", "https://[fd00:ec2::254]/latest/meta-data/",
            "https://[fd20:ce::254]/", "https://[fd00:42::42]/", "https://[fe80::a9fe:a9fe]/",
            "https://169.254.170.2/v2/credentials", "https://169.254.42.42/",
            "https://161.26.0.10/",
        ],
    ),
    (
        "names of this network, disguised",
        &[
            "https://printer。local/", "https://printer．ｌｏｃａｌ/", "https://printer.ⓛocal/",
            "https://db.ｉｎｔｅｒｎａｌ/", "https://db。internal。/", "https://db.inter\u{ad}nal/",
            "https://db%2einternal/", "https://nas.home。arpa/", "https://nas．home．arpa／",
            "https://nas.ｈome.arpa/", "https://bücher.local/", "https://xn--bcher-kva.local/",
        ],
    ),
];

#[rustfmt::skip]
const HARMLESS: [&str; 58] = [
    "https://hooks.example",
    "https://hooks.example/",
    "https://hooks.example/a/b/c",
    "https://hooks.example:443/",
    "https://hooks.example:1/",
    "https://hooks.example:65535/",
    "https://hooks.example:00443/",
    "https://hooks.example./",
    "HTTPS://HOOKS.EXAMPLE/",
    "HtTpS://Hooks.Example:8443/A?b=C",
    "https://hooks.example?x=y",
    "https://hooks.example#x",
    "https://hooks.example/?",
    "https://hooks.example/?u=https://127.0.0.1/",
    "https://hooks.example/?@127.0.0.1",
    "https://hooks.example/#@127.0.0.1",
    "https://hooks.example#@127.0.0.1/",
    "https://hooks.example?@localhost/",
    "https://hooks.example/@localhost",
    "https://hooks.example/u:p@localhost/",
    "https://hooks.example/http://10.0.0.1/",
    "https://hooks.example/[::1]",
    "https://hooks.example/%00%0a%5c",
    "https://hooks.example/..%2f..%2f",
    "https://hooks.example/../../etc",
    "https://hooks.example//double//slash",
    "https://hooks.example/bücher",
    "https://hooks.example/☃",
    "https://bücher.example/",
    "https://xn--bcher-kva.example/",
    "https://BÜCHER.example/",
    "https://日本語.example/",
    "https://hooks。example/",
    "https://ｈｏｏｋｓ.example/",
    "https://ho%6fks.example/",
    "https://under_score.example/",
    "https://a-b.c-d.example/",
    "https://localhost.example/",
    "https://localhost.hooks.example/",
    "https://notlocalhost.example/",
    "https://mylocalhost.invalid/",
    "https://local.example/",
    "https://printer.local.example/",
    "https://internal.example/",
    "https://home.arpa.example/",
    "https://127.0.0.1.example/",
    "https://10-0-0-8.example/",
    "https://0x7f000001.example/",
    "https://127.0.0.1x.example/",
    "https://1.1.1.1/",
    "https://8.8.8.8:8443/x",
    "https://0x8.8.8.010/",
    "https://134744072/",
    "https://8.8.8.8./",
    "https://[2606:4700:4700::1111]/",
    "https://[2606:4700:4700:0:0:0:0:1111]:8443/",
    "https://[2A00:1450:4009:81F::200E]/",
    "https://[2001:4860:4860::8888]/",
];

/// Addresses in special-purpose ranges that IANA's IPv4 registry or IPv6 registry lists as globally
/// reachable.
const GLOBALLY_REACHABLE: [&str; 5] = [
    "192.31.196.1",
    "192.52.193.1",
    "192.175.48.6",
    "2620:4f:8000::42",
    "2600::",
];

fn url_of(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => format!("https://{ip}/"),
        IpAddr::V6(ip) => format!("https://[{ip}]/"),
    }
}

fn parsed(text: &str) -> IpAddr {
    text.parse()
        .unwrap_or_else(|_| panic!("{text} is no address"))
}

/// Returns the first, the middle and the last address of a range.
fn within(range: &Range) -> [IpAddr; 3] {
    let (first, last) = (parsed(range.first), parsed(range.last));
    let middle = match (first, last) {
        (IpAddr::V4(first), IpAddr::V4(last)) => {
            Ipv4Addr::from(u32::from(first).midpoint(u32::from(last))).into()
        }
        (IpAddr::V6(first), IpAddr::V6(last)) => {
            Ipv6Addr::from(u128::from(first).midpoint(u128::from(last))).into()
        }
        _ => panic!("{} and {} are of two families", range.first, range.last),
    };
    [first, middle, last]
}

/// Returns the IPv6 addresses that contain an IPv4 address and may lead to it.
fn wrappers(ip: Ipv4Addr) -> [Ipv6Addr; 4] {
    let [a, b, c, d] = ip.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    [
        ip.to_ipv6_mapped(),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 0),
        Ipv6Addr::new(0x2002, high, low, 0xffff, 0, 0, 0, 1),
    ]
}

/// Returns the targets that the service must refuse, each with a description of its kind.
fn hostile() -> Vec<(&'static str, String)> {
    let mut all: Vec<(&str, String)> = HOSTILE
        .iter()
        .flat_map(|(what, urls)| urls.iter().map(move |url| (*what, (*url).to_owned())))
        .collect();
    for range in &RANGES {
        all.extend(within(range).map(|ip| (range.what, url_of(ip))));
    }
    for (inner, _) in WRAPPED.iter().filter(|(_, is_public)| !is_public) {
        let inner: Ipv4Addr = inner.parse().unwrap();
        let [a, b, c, d] = inner.octets();
        all.extend(wrappers(inner).map(|ip| ("wrapped", url_of(ip.into()))));
        // IPv4-compatible IPv6 addresses have been deprecated since 2006. Nevertheless some
        // machines still connect to the IPv4 address in them.
        all.push(("IPv4-compatible", url_of(inner.to_ipv6_compatible().into())));
        all.push(("local NAT64", format!("https://[64:ff9b:1::{inner}]/")));
        for text in [
            format!("{}", u32::from(inner)),
            format!("{:#x}", u32::from(inner)),
            format!("0{:o}", u32::from(inner)),
            format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            format!("{a:#x}.{b}.{:#x}", u32::from(c) << 8 | u32::from(d)),
            format!("[::ffff:{inner}]"),
            format!("[0:0:0:0:0:FFFF:{inner}]"),
        ] {
            all.push(("disguised", format!("https://{text}/")));
        }
    }
    all.push(("too long", long(2_049)));
    all.push(("far too long", long(60_000)));
    all
}

/// Returns the targets that the service must accept.
fn harmless() -> Vec<String> {
    let mut all: Vec<String> = HARMLESS.iter().map(|url| (*url).to_owned()).collect();
    let outside = RANGES
        .iter()
        .flat_map(|range| range.outside)
        .chain(&GLOBALLY_REACHABLE);
    all.extend(outside.map(|text| url_of(parsed(text))));
    for (inner, _) in WRAPPED.iter().filter(|(_, is_public)| *is_public) {
        all.extend(wrappers(inner.parse().unwrap()).map(|ip| url_of(ip.into())));
    }
    all.push(long(2_048));
    all
}

/// Returns the URL of a target with this number of characters.
fn long(characters: usize) -> String {
    let start = "https://hooks.example/";
    format!("{start}{}", "x".repeat(characters - start.len()))
}

/// Creates a subscription for each target URL, which the service must refuse with an issue of
/// `targetUrl`. Returns a description of each URL that got another response.
async fn refusal_of(org: &Org<'_>, urls: &[(&str, String)]) -> Vec<String> {
    let api = org.key().await;
    let mut wrong = Vec::new();
    for (what, url) in urls {
        let response = api
            .post(
                "/webhook-subscriptions",
                json!({ "event": "task.created", "targetUrl": url }),
            )
            .await;
        if response.status != 400 {
            wrong.push(format!("{what}: {url:?} is answered {}", response.status));
        } else if response.issues() != ["targetUrl"] {
            wrong.push(format!(
                "{what}: {url:?} has the issues {:?}",
                response.issues()
            ));
        }
    }
    wrong
}

#[test]
fn the_lists_of_hostile_and_harmless_targets_are_long_and_disjoint() {
    let (hostile, harmless) = (hostile(), harmless());
    assert!(
        hostile.len() >= 200 && harmless.len() >= 40,
        "{} and {}",
        hostile.len(),
        harmless.len()
    );
    let distinct: std::collections::HashSet<&str> =
        hostile.iter().map(|(_, url)| url.as_str()).collect();
    assert!(
        distinct.len() >= 200 && harmless.iter().all(|url| !distinct.contains(url.as_str())),
        "none is both"
    );
}

on_both!(hostile_targets_are_refused_in_every_notation);
async fn hostile_targets_are_refused_in_every_notation(app: App) {
    let org = app.org().await;
    let hostile = hostile();
    // If the service wrongly accepts a target, the target counts towards the credential's limit
    // of 100 subscriptions. The test therefore uses several credentials.
    let mut wrong = Vec::new();
    for urls in hostile.chunks(TARGETS_PER_KEY) {
        wrong.extend(refusal_of(&org, urls).await);
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        hostile.len(),
        wrong.join("\n")
    );
}

on_both!(harmless_targets_are_accepted_as_sent);
async fn harmless_targets_are_accepted_as_sent(app: App) {
    let org = app.org().await;
    let harmless = harmless();
    let mut wrong = Vec::new();
    for urls in harmless.chunks(TARGETS_PER_KEY) {
        let api = org.key().await;
        for url in urls {
            let response = api
                .post(
                    "/webhook-subscriptions",
                    json!({ "event": "task.created", "targetUrl": url }),
                )
                .await;
            if (response.status, response.body["data"]["targetUrl"].as_str()) != (201, Some(url)) {
                wrong.push(format!(
                    "{url:?} is answered {} {}",
                    response.status, response.body
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        harmless.len(),
        wrong.join("\n")
    );
}

on_both!(
    an_opened_range_opens_only_its_own_addresses,
    "--webhook-allow=10.1.0.0/16"
);
async fn an_opened_range_opens_only_its_own_addresses(app: App) {
    let api = app.org().await.key().await;
    for (url, status) in [
        ("https://10.1.0.0/", 201),
        ("https://10.1.255.255/", 201),
        ("https://0xa010001/", 201),
        ("https://[::ffff:10.1.0.1]/", 201),
        ("https://10.0.255.255/", 400),
        ("https://10.2.0.0/", 400),
        ("https://127.0.0.1/", 400),
        ("https://[::1]/", 400),
        ("https://[::ffff:10.2.0.0]/", 400),
        ("https://localhost/", 400),
        ("https://db.internal/", 400),
        ("http://10.1.0.1/", 400),
        ("https://u@10.1.0.1/", 400),
    ] {
        let response = api
            .post(
                "/webhook-subscriptions",
                json!({ "event": "task.created", "targetUrl": url }),
            )
            .await;
        assert_eq!(response.status, status, "{url} {}", response.body);
    }
}
