#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""transport/dropin/abi.py MAP INC: the version script of the drop-in libibverbs.so.1, and the names in it that
only answer that there is no such thing, as assembler lines.
transport/dropin/abi.py --library MAP NODE NAME...: that of libverbena: the public names in the same nodes, and
those names in a node of their own.

Nodes and names are those that rdma-core's libraries show (its libibverbs/libibverbs.map.in of v44 and v65,
"nm -D" of v44): what is not ours to do still has to be there, since a program or a provider library that was
linked against the real one does not start without each name that it imports. IBVERBS_PRIVATE_n is what
libmlx5.so.1, libefa.so.1 and their like import; n is the number of the private ABI of a release."""
import sys

PUBLIC = {
    "1.0": """ibv_create_comp_channel ibv_destroy_comp_channel ibv_rate_to_mult mult_to_ibv_rate
              ibv_copy_path_rec_from_kern ibv_copy_path_rec_to_kern ibv_copy_qp_attr_from_kern ibv_get_sysfs_path
              ibv_read_sysfs_file""",
    "1.1": """ibv_ack_async_event ibv_ack_cq_events ibv_alloc_pd ibv_attach_mcast ibv_close_device ibv_create_ah
              ibv_create_ah_from_wc ibv_create_cq ibv_create_qp ibv_create_srq ibv_dealloc_pd ibv_dereg_mr
              ibv_destroy_ah ibv_destroy_cq ibv_destroy_qp ibv_destroy_srq ibv_detach_mcast ibv_dofork_range
              ibv_dontfork_range ibv_event_type_str ibv_fork_init ibv_free_device_list ibv_get_async_event
              ibv_get_cq_event ibv_get_device_guid ibv_get_device_list ibv_get_device_name ibv_init_ah_from_wc
              ibv_modify_qp ibv_modify_srq ibv_node_type_str ibv_open_device ibv_port_state_str
              ibv_query_device ibv_query_gid ibv_query_pkey ibv_query_port ibv_query_qp ibv_query_srq
              ibv_rate_to_mbps ibv_reg_mr ibv_rereg_mr ibv_resize_cq ibv_resolve_eth_l2_from_gid
              ibv_wc_status_str mbps_to_ibv_rate ibv_copy_ah_attr_from_kern""",
    "1.5": "ibv_get_pkey_index",
    "1.6": "ibv_qp_to_qp_ex",
    "1.7": "ibv_reg_mr_iova",
    "1.8": "ibv_reg_mr_iova2",
    "1.9": "ibv_get_device_index",
    "1.10": """ibv_import_device ibv_import_mr ibv_import_pd ibv_query_ece ibv_set_ece ibv_unimport_mr
               ibv_unimport_pd""",
    "1.11": "_ibv_query_gid_ex _ibv_query_gid_table",
    "1.12": "ibv_reg_dmabuf_mr",
    "1.13": "ibv_import_dm ibv_is_fork_initialized ibv_unimport_dm",
    "1.14": "ibv_query_qp_data_in_order",
}
# Of releases behind v44; pointers say NULL, all else EOPNOTSUPP.
LATER = {
    "1.15": "ibv_alloc_dmah* ibv_dealloc_dmah ibv_reg_mr_ex*",
    "1.16": "ibv_dm_export_dmabuf_fd ibv_query_port_speed",
    "1.17": "ibv_alloc_buf* ibv_free_buf ibv_reg_buf_mr*",
    "1.18": """_ibv_query_comp_cntr_caps ibv_create_comp_cntr* ibv_destroy_comp_cntr ibv_export_buf_dmabuf_fd
               ibv_inc_comp_cntr ibv_inc_err_comp_cntr ibv_qp_attach_comp_cntr ibv_read_comp_cntr
               ibv_read_err_comp_cntr ibv_set_comp_cntr ibv_set_err_comp_cntr""",
}
# With the structures of libibverbs 1.0 (2005); no program of today imports them.
FIRST = """ibv_ack_async_event ibv_ack_cq_events ibv_alloc_pd* ibv_attach_mcast ibv_close_device ibv_create_ah*
           ibv_create_cq* ibv_create_qp* ibv_create_srq* ibv_dealloc_pd ibv_dereg_mr ibv_destroy_ah ibv_destroy_cq
           ibv_destroy_qp ibv_destroy_srq ibv_detach_mcast ibv_free_device_list ibv_get_async_event
           ibv_get_cq_event ibv_get_device_guid ibv_get_device_list* ibv_get_device_name* ibv_modify_qp
           ibv_modify_srq ibv_open_device* ibv_query_device ibv_query_gid ibv_query_pkey ibv_query_port
           ibv_query_qp ibv_query_srq ibv_reg_mr* ibv_resize_cq"""
PRIVATE = """__ioctl_final_num_attrs __verbs_log _verbs_init_and_alloc_context* execute_ioctl ibv_cmd_advise_mr
             ibv_cmd_alloc_dm ibv_cmd_alloc_dmah ibv_cmd_alloc_mw ibv_cmd_alloc_pd ibv_cmd_attach_mcast
             ibv_cmd_close_xrcd ibv_cmd_create_ah ibv_cmd_create_comp_cntr ibv_cmd_create_counters
             ibv_cmd_create_cq ibv_cmd_create_cq_ex ibv_cmd_create_cq_ex2 ibv_cmd_create_flow
             ibv_cmd_create_flow_action_esp ibv_cmd_create_qp ibv_cmd_create_qp_ex ibv_cmd_create_qp_ex2
             ibv_cmd_create_rwq_ind_table ibv_cmd_create_srq ibv_cmd_create_srq_ex ibv_cmd_create_wq
             ibv_cmd_dealloc_mw ibv_cmd_dealloc_pd ibv_cmd_dereg_mr ibv_cmd_destroy_ah ibv_cmd_destroy_comp_cntr
             ibv_cmd_destroy_counters ibv_cmd_destroy_cq ibv_cmd_destroy_flow ibv_cmd_destroy_flow_action
             ibv_cmd_destroy_qp ibv_cmd_destroy_rwq_ind_table ibv_cmd_destroy_srq ibv_cmd_destroy_wq
             ibv_cmd_detach_mcast ibv_cmd_export_dmabuf_fd ibv_cmd_free_dm ibv_cmd_free_dmah ibv_cmd_get_context
             ibv_cmd_inc_comp_cntr ibv_cmd_inc_err_comp_cntr ibv_cmd_modify_cq ibv_cmd_modify_flow_action_esp
             ibv_cmd_modify_qp ibv_cmd_modify_qp_ex ibv_cmd_modify_srq ibv_cmd_modify_wq ibv_cmd_open_qp
             ibv_cmd_open_xrcd ibv_cmd_poll_cq ibv_cmd_post_recv ibv_cmd_post_send ibv_cmd_post_srq_recv
             ibv_cmd_qp_attach_comp_cntr ibv_cmd_query_comp_cntr_caps ibv_cmd_query_context
             ibv_cmd_query_device_any ibv_cmd_query_mr ibv_cmd_query_port ibv_cmd_query_port_speed
             ibv_cmd_query_qp ibv_cmd_query_srq ibv_cmd_read_comp_cntr ibv_cmd_read_counters
             ibv_cmd_read_err_comp_cntr ibv_cmd_reg_dm_mr ibv_cmd_reg_dmabuf_mr ibv_cmd_reg_mr ibv_cmd_reg_mr_ex
             ibv_cmd_req_notify_cq ibv_cmd_rereg_mr ibv_cmd_resize_cq ibv_cmd_set_comp_cntr
             ibv_cmd_set_err_comp_cntr ibv_dmabuf_heap_alloc* ibv_dmabuf_heap_cc_shared_init*
             ibv_dmabuf_heap_destroy ibv_dmabuf_heap_free ibv_query_gid_type ibv_read_ibdev_sysfs_file
             ibv_wr_opcode_str* verbs_allow_disassociate_destroy verbs_init_cq verbs_open_device*
             verbs_register_driver_{} verbs_set_ops verbs_uninit_context"""
# The one private name that programs call (ibv_devinfo, pyverbs), and that is ours.
OURS_OF_PRIVATE = {"ibv_query_gid_type": "dropin_query_gid_type"}
DEFAULT_ABI = 34
PRIVATE_ABIS = [22, 25, 33, 34, 57, 59, 64, 65]
# What libverbena-paths.so finds here (transport/nic/ucma.h).
OURS = "verbena_rdma_cm"
# Hidden in the real library, too.
HIDDEN = {"1.1": "ibv_register_driver"}


def version_script():
    text, before = [], ""
    for number, names in (PUBLIC | {n: "" for n in LATER}).items():
        shown = "".join(f"\t\t{name};\n" for name in names.split())
        shown = f"\tglobal:\n{shown}" if shown else ""
        # It also hides what .symver puts into the same node: there is none of that in 1.5.
        local = "\tlocal: *;\n" if number == "1.5" else ""
        text.append(f"IBVERBS_{number} {{\n{shown}{local}}}{before};\n")
        before = f" IBVERBS_{number}"
    for abi in PRIVATE_ABIS:
        shown = "".join(f"\tglobal:\n\t\t{name};\n" for name in OURS_OF_PRIVATE if abi == DEFAULT_ABI)
        text.append(f"IBVERBS_PRIVATE_{abi} {{\n{shown}}};\n")
    text.append(f"VERBENA_1 {{\n\tglobal:\n\t\t{OURS};\n}};\n")
    return "\n".join(text)


def library_script(node, own):
    before, text = "", []

    def add(name, names, local=""):
        shown = "".join(f"\t\t{n};\n" for n in names)
        text.append(f"{name} {{\n\tglobal:\n{shown}{local}}}{before};\n")

    for number, names in PUBLIC.items():
        add(f"IBVERBS_{number}", names.split())
        before = f" IBVERBS_{number}"
    before = ""
    add(f"IBVERBS_PRIVATE_{DEFAULT_ABI}", OURS_OF_PRIVATE)
    add(node, own, "\tlocal: *;\n")
    return "\n".join(text)


def absent_names():
    """(name, node, what it is another name of) of all that is refused, and of what is ours elsewhere."""
    for number, names in LATER.items():
        yield from ((n, f"@IBVERBS_{number}") for n in names.split())
    yield from ((n, "IBVERBS_1.0") for n in FIRST.split())
    for number, name in HIDDEN.items():
        yield name, f"IBVERBS_{number}"
    for abi in PRIVATE_ABIS:
        yield from ((n, f"{'@' if abi == DEFAULT_ABI else ''}IBVERBS_PRIVATE_{abi}")
                    for n in PRIVATE.format(abi).split() if abi != DEFAULT_ABI or n not in OURS_OF_PRIVATE)


def aliases():
    for i, (name, node) in enumerate(absent_names()):
        plain = name.rstrip("*")
        stands_for = OURS_OF_PRIVATE.get(plain, "dropin_absent_pointer" if name != plain else "dropin_absent_int")
        yield f"ALIAS(dropin_{i}, {stands_for}, \"{plain}@{node}\")\n"


def main():
    if sys.argv[1] == "--library":
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(library_script(sys.argv[3], sys.argv[4:]))
        return
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(version_script())
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.writelines(aliases())


main()
