import { NOTHING, or, type P, t, v, why } from './fault-parts.ts'

/** Words of `store/*` and `support/*`. */
export const STORE_TEXT = {
  'store/conflict': () =>
    t('Somebody else changed this first.', 'Your change was not applied.', 'Look at it and try again.'),
  'store/unavailable': (p: P) =>
    t(`The app's data cannot be written${why(p)}.`, NOTHING, 'Check the disk and the data folder.'),
  'store/read-only': (p: P) =>
    t(
      `The app's data is damaged and open for reading only${why(p)}.`,
      'Nothing was changed, and nothing is sent to hosts; their VMs keep running.',
      or(
        p['next'],
        'Make a new store from what the hosts hold with "eitri store rebuild", or stop the app and put a copy back with "eitri restore FILE".',
      ),
    ),
  'store/newer': (p: P) =>
    t(
      `The app's data was written by a newer version: its schema is ${v(p, 'schema')}, this version knows ${v(p, 'known')}.`,
      NOTHING,
      'Start the newer version, or put back a copy from before it with "eitri restore FILE".',
    ),
  'store/not-migrated': (p: P) =>
    t(
      `The app's data could not be brought from schema ${v(p, 'from')} to ${v(p, 'to')}${why(p)}.`,
      'It is as it was: the version before still opens it.',
      'Make room if the disk is full and start again; else go on with the version before and report this.',
    ),
  'store/not-damaged': () => t("The app's data is whole and can be changed.", NOTHING, 'There is nothing to rebuild.'),
  'store/not-restored': (p: P) =>
    t(
      `${or(p['file'], 'The file')} cannot be put back${why(p)}.`,
      NOTHING,
      or(p['next'], 'Choose another copy; "eitri store" names those that are kept.'),
    ),
  'store/not-backed-up': (p: P) =>
    t(
      `The backup was not written to ${or(p['path'], 'that file')}${why(p)}.`,
      "The app's data is as it was, and nothing is left of the copy.",
      'Make room there, or choose another folder.',
    ),
  'support/not-written': (p: P) =>
    t(
      `The support bundle was not written to ${or(p['path'], 'that file')}${why(p)}.`,
      'Nothing was written, and no file was replaced.',
      'Choose another file name or folder.',
    ),
  'support/preview-over': () =>
    t(
      'The support bundle was not written: what was shown is not kept any more.',
      'Nothing was written.',
      'Look again at what it would hold, and write that.',
    ),
}
