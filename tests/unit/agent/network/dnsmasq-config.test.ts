import { describe, expect, it } from 'vitest'
import { dnsmasqConfig, hostsText, keptLeases, parseHosts } from '../../../../src/agent/network/dnsmasq-config.ts'
import { networkPlace } from '../../../../src/agent/network/network-place.ts'

const web = { mac: '52:54:00:00:00:01', ip: '10.77.0.2', name: 'web' }
const unnamed = { mac: '52:54:00:00:00:02', ip: '10.77.0.3', name: '' }

describe('what dnsmasq is told', () => {
  it('is to serve reservations on the bridge alone, and leave everything of the host to others', () => {
    expect(dnsmasqConfig('eitri0', '10.77.0.0/24', networkPlace(7)).split('\n')).toEqual([
      'interface=eitri0',
      'except-interface=lo',
      'bind-dynamic',
      'no-hosts',
      'domain-needed',
      'domain=eitri.internal',
      'local=/eitri.internal/',
      'dhcp-range=10.77.0.0,static,255.255.255.0,1h',
      'dhcp-authoritative',
      'dhcp-lease-max=65533',
      'dhcp-hostsfile=/run/eitri-network/7/dnsmasq.hosts',
      'dhcp-leasefile=/run/eitri-network/7/dnsmasq.leases',
      'pid-file=/run/eitri-network/7/dnsmasq.pid',
      'quiet-dhcp',
      '',
    ])
  })

  it('is the same text for the same reservations, and is read back', () => {
    const text = '52:54:00:00:00:01,10.77.0.2,web.eitri.internal\n52:54:00:00:00:02,10.77.0.3\n'
    expect(hostsText([unnamed, web])).toBe(text)
    expect(hostsText([web, unnamed])).toBe(hostsText([unnamed, web]))
    expect(parseHosts(`${hostsText([unnamed, web])}rubbish\n52:54:00,10.77.0.9,x\n`)).toEqual([web, unnamed])
    expect(parseHosts('52:54:00:00:00:01,10.77.0.2,web\n')).toEqual([web])
  })

  it('forgets leases that are no reservation: the address may be another VM’s by now', () => {
    const line = (mac: string, ip: string) => `1800000000 ${mac} ${ip} name 01:${mac}\n`
    const leases = line(web.mac, web.ip) + line('52:54:00:00:00:09', unnamed.ip) + line(unnamed.mac, '10.77.0.8')
    expect(keptLeases(leases, [web, unnamed])).toBe(line(web.mac, web.ip))
    expect(keptLeases('', [web])).toBe('')
  })
})
