import type { ServiceImpl } from '@connectrpc/connect'
import { checkedUserData } from '../../../ipc/cloud-init/wire.ts'
import type { CloudInitService } from '../../../ipc/gen/eitri/fleet/v1/cloud_init_pb.js'

/** User-data looked over before a guest gets it; the same checker as in forms and on the command line. */
export const cloudInitApi = (): ServiceImpl<typeof CloudInitService> => ({
  checkCloudInit: ({ userData }) => checkedUserData(userData),
})
