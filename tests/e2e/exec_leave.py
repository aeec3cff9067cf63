# SPDX-License-Identifier: BSD-2-Clause
"""exec_leave.py ADDRESS: connects to whoever listens there, as rping's client does, and just ends."""
import ctypes
import sys

import pyverbs.cm_enums as cm
import pyverbs.enums as verbs
from pyverbs.cmid import CMID, AddrInfo, ConnParam
from pyverbs.qp import QPCap, QPInitAttr

where = AddrInfo(dst=sys.argv[1], dst_service="7174", port_space=cm.RDMA_PS_TCP)
cmid = CMID(creator=where, qp_init_attr=QPInitAttr(qp_type=verbs.IBV_QPT_RC, cap=QPCap(max_recv_wr=1)))
cmid.connect(ConnParam())
print("connected", flush=True)
ctypes.CDLL(None).exit(0)
