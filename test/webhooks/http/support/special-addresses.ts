/**
 * Addresses that must not be called: the edges of every range that IANA sets apart, and every way to carry an IPv4
 * address inside an IPv6 one. Written out by hand, so that nothing here is derived from what is tested.
 */
export const SPECIAL_V4: readonly string[] = addresses(`
  0.0.0.0 0.0.0.1 0.255.255.255
  10.0.0.0 10.0.0.1 10.255.255.255
  100.64.0.0 100.100.100.200 100.127.255.255
  127.0.0.0 127.0.0.1 127.0.0.53 127.255.255.255
  169.254.0.0 169.254.169.254 169.254.170.2 169.254.255.255
  172.16.0.0 172.17.0.1 172.31.255.255
  192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.192 192.0.0.255
  192.0.2.0 192.0.2.255
  192.31.196.0 192.31.196.255
  192.52.193.0 192.52.193.255
  192.88.99.0 192.88.99.1 192.88.99.255
  192.168.0.0 192.168.1.1 192.168.255.255
  192.175.48.0 192.175.48.255
  198.18.0.0 198.19.255.255
  198.51.100.0 198.51.100.255
  203.0.113.0 203.0.113.255
  224.0.0.0 224.0.0.1 239.255.255.255
  240.0.0.0 247.1.2.3 255.255.255.254 255.255.255.255
  168.63.129.16
`);

export const SPECIAL_V6: readonly string[] = addresses(`
  :: ::1 ::2
  ::127.0.0.1 ::10.0.0.1 ::5db8:d822  (compatible)
  ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:5db8:d822  (mapped)
  ::ffff:0:127.0.0.1 ::ffff:0:5db8:d822  (translated)
  64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b::5db8:d822  (NAT64)
  64:ff9b:1::1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff
  100:: 100::ffff:ffff:ffff:ffff 100:0:0:1::1
  2001:: 2001::1 2001:0:5db8:d822::f5ff:fffe 2001:0:ffff:ffff:ffff:ffff:ffff:ffff  (Teredo)
  2001:1::1 2001:1::2 2001:1::3
  2001:2::1 2001:2:0:ffff::1
  2001:3::1 2001:4:112::1
  2001:10::1 2001:1f:ffff::1 2001:20::1 2001:2f:ffff::1 2001:30::1 2001:3f:ffff::1
  2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff
  2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff
  2002:: 2002:7f00:1:: 2002:a00:1::1 2002:a9fe:a9fe:: 2002:5db8:d822::1 2002:ffff::1  (6to4)
  2620:4f:8000:: 2620:4f:8000:ffff:ffff:ffff:ffff:ffff
  3fff:: 3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff
  2600:1f18::5efe:127.0.0.1 2600:1f18::200:5efe:10.0.0.1 2600:1f18::5efe:a9fe:a9fe  (ISATAP)
  1fff:ffff::1 4000::1 5f00::1 8000::1 a000::1 e000::1  (outside global unicast)
  fc00::1 fd00:ec2::254 fd20:ce::254 fdff:ffff::1
  fe80::1 fe80::a9fe:a9fe febf:ffff::1
  fec0::1 feff:ffff::1
  ff00:: ff02::1 ff0e::1 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff
`);

/** Neighbours of the ranges above, and others that anybody may call. */
export const PUBLIC: readonly string[] = addresses(`
  1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
  169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0
  192.0.3.0 192.31.195.255 192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255
  192.88.100.0 192.167.255.255 192.169.0.0 192.175.47.255 192.175.49.0 198.17.255.255
  198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
  8.8.8.8 93.184.216.34 168.63.129.15 168.63.129.17
  2000::1 2001:200::1 2001:db7:ffff::1 2001:db9::1 2001:4860:4860::8888 2003::1
  2620:4f:7fff:ffff::1 2620:4f:8001::1 2606:4700::1111 3ffe::1 3fff:1000::1
`);

/** What stands in parentheses is for people. */
function addresses(text: string): readonly string[] {
  return words(text.replaceAll(/\(.*\)/g, ""));
}

export function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
