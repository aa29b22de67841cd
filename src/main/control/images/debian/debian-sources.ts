/** What `apt-get indextargets` prints of each list this computer has. */
export const INDEX_FORMAT = '$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)'

export const SUITE = 'bookworm'
const ARCHIVE = 'http://deb.debian.org/debian'
const SECURITY = 'http://deb.debian.org/debian-security'

/**
 * Where packages are fetched: this computer's own mirrors of the suite where it has them, else Debian's. The image
 * itself always names Debian's. Pure.
 */
export function debianSources(indexTargets: string): string[] {
  const known = new Map<string, string>()
  for (const line of indexTargets.split('\n')) {
    const [uri, codename, component, origin] = line.split(' ')
    if (uri && codename && component === 'main' && origin === 'Debian') known.set(codename, uri.replace(/\/$/, ''))
  }
  const archive = known.get(SUITE) ?? ARCHIVE
  return [
    `deb ${archive} ${SUITE} main`,
    `deb ${known.get(`${SUITE}-updates`) ?? archive} ${SUITE}-updates main`,
    `deb ${known.get(`${SUITE}-security`) ?? SECURITY} ${SUITE}-security main`,
  ]
}
